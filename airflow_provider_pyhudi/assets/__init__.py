"""Assets: a Hudi table as what tasks produce and wait for."""
