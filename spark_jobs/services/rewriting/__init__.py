"""Rewrites of files by a plan on the timeline: schedule it, execute it piece by piece, or take it back."""
