"""Configuration: one typed declaration for each ``hoodie.*`` key."""
