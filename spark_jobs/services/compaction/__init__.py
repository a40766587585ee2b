"""Compaction: the logs of a slice merged into a new base file."""
