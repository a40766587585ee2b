"""Which record wins, on whole Arrow tables."""
