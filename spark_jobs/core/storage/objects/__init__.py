"""Stores of objects (S3 and its like): keys without folders, links, rename or append, with conditional puts."""
