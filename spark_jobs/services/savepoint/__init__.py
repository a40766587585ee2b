"""Savepoints: the files of a commit kept until somebody lets them go."""
