"""Tables that others published, made again by their own protocol, so that our results can stand beside theirs.

`openb` reads the trace, `gorand` and `arrivals` give the order in which the published runs saw the pods, and `levels`
is the published measure.
"""
