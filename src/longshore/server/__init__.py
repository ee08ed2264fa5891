"""What speaks HTTP: the one table of routes (`routes.py`), what answers them, and the port that they are served on."""
