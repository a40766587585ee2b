"""Cleaning: file slices that no retained instant needs, removed."""
