"""A labelled corpus of trajectories: what each rule must say of them, and what only looks like it."""
