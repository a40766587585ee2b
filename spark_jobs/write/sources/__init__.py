"""Sources that a checkpoint goes with: each write takes what came since, and says in its commit how far it read."""
