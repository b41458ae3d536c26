"""The test set: production failures as cases that an agent team keeps and runs."""
