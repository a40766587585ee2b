"""Mends of what a validation found; shown first, then done exactly so."""
