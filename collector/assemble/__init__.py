"""Station 5: steps become runs, whatever order they arrive in."""
