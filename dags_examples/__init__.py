"""Example DAGs: each is imported and checked by a test, and run by one where it can run."""
