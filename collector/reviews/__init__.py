"""Review by people: which closed runs are sampled, what readers said of them, and the numbers that follow."""
