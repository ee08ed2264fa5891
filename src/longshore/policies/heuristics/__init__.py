"""Heuristics: fixed rules that rank nodes, one file each, and the baselines that every learned policy is compared with.

`base.py` says what one is; the table of names is `longshore.policies.REGISTRY`. `amounts.py` holds the quantities that
several of them read.
"""
