"""How a table is kept: numbers, and the service that would help."""
