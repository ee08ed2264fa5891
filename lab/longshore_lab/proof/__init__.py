"""Proof against the real thing: the oracle's cases on a live API server, and faults after which nothing may be lost."""
