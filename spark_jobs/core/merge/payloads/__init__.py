"""Hudi's payload classes, one in each file, and one's own as a function."""
