"""The openb study: a published GPU trace, the tables that were made on it, and policies trained for them."""
