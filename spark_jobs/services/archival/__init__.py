"""Archival: old instants moved off the active timeline."""
