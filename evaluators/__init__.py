"""Station 6: rules that judge a run step by step; one evaluator a file, found by its registry."""
