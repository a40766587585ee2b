"""Which incoming records a table has, and in which file group; a module for each kind of index."""
