"""Which slices and columns a query needs, and reading them to Arrow."""
