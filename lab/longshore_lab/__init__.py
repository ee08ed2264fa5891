"""The lab: local clusters, live workloads, load, experiments, and the proof against upstream's own code."""
