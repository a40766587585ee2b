"""Triggers: one module each."""
