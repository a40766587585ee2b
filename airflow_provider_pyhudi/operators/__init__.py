"""Operators: one module each."""
