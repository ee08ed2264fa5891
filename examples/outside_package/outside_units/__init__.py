"""One unit of every kind, as a package outside of longshore has them; docs/guides/extend.md explains each."""
