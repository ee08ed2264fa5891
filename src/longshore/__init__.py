"""longshore: a Kubernetes scheduler that learns where pods go.

The package is a set of rooms that import only downwards; docs/concepts/architecture.md shows them.
"""

__version__ = "0.1.0.dev0"
