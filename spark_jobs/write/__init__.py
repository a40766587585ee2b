"""Writing with Spark: source, keys, tagging, packing, one task for each file group, commit."""
