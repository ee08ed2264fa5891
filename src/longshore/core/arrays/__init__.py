"""The same as numbers: the cluster as arrays, its compiler, features, and the formulas over them."""
