"""The commands that the lab adds to `longshore`, one file per group."""
