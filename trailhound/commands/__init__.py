"""The commands of `trailhound`, one file each: every module here has `register(app)` and is found by the CLI."""
