"""Text for a person at a terminal, made from the outward JSON of runs, findings, sessions and rules."""
