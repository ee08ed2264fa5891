"""The oracle proof: random cases, upstream's answers to them, ours, and the comparison."""
