"""What outlives a process: the decision log. SQLite by default, the same code on another database by its address."""
