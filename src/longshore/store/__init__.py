"""What outlives a process: decision log and model registry. SQLite by default, another database by its address."""
