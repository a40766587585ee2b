"""Stores of objects (S3, Azure, GCS): keys without folders, links, rename or append, with conditional puts."""
