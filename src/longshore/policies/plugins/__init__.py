"""Upstream's score plugins, one file each."""
