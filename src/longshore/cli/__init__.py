"""The command line: thin commands, one file per group, no logic of their own.

`main.py` has the table of command modules, `output.py` the way they speak.
"""
