"""The words: pods, nodes, snapshots, arrays and the pure functions over them.

Bytes come in and bytes go out; nothing in this room reads a file, a clock or a source of randomness.
"""
