"""The words: pods, nodes, snapshots, traces and decisions by their names, with errors and registries."""
