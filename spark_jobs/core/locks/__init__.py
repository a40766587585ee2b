"""The table lock: what one is, those there are, and which is taken."""
