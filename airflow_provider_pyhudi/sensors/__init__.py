"""Sensors: one module each."""
