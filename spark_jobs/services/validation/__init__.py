"""Whether a table keeps the promises of its format."""
