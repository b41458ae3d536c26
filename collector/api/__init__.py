"""The HTTP API of port 4320: health, metrics, and JSON of runs, sessions and findings."""
