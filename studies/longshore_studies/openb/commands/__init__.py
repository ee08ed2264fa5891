"""The commands that the study adds to `longshore`."""
