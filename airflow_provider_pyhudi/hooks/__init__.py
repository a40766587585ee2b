"""Hooks: the connection type `hudi`, and spark-submit."""
