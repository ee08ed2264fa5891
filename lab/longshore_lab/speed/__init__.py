"""How fast: simulator, training, inference, and pods in a real cluster."""
