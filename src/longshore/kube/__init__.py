"""Kubernetes' side of the house: its objects on the wire and their conversion to our words."""
