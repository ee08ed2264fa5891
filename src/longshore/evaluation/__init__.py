"""Comparisons that a reviewer would accept: metrics, intervals, paired differences and the distance to the optimum.

`comparison.compare` is the way in. Beside it: `metrics.METRICS` (what is measured), `statistics` (intervals), `bounds`
(how well it could be done), `series.simulate` (one run over time).
"""
