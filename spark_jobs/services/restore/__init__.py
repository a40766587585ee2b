"""Restore: a table taken back to an earlier commit."""
