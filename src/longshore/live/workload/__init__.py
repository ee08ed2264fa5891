"""The simulator's workloads in a live cluster: a trace's pods as real objects, in real time, and what came of them."""
