"""Station 8: what is said about findings to the outside: metrics, and notifications."""
