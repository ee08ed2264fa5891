"""`longshore top`: a view of a cluster in a terminal. `model.py` is pure, `feed.py` fills it, `app.py` shows it."""
