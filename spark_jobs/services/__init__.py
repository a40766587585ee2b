"""Table services: a plan made by a pure function, then its execution."""
