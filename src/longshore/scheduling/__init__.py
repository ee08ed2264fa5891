"""The live loop: pods from the watch, decisions from `deciding`, bindings to the API server."""
