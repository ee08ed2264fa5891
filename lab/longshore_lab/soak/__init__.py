"""The soak: one scheduler for long in a cluster that is never at rest. `run` brings it all together, `load` is what
happens to the cluster, `samples` what is measured of the process, `verdict` what it has to keep."""
