"""Studies: outside tables made again, and how the policies beside them were trained, one folder each."""
