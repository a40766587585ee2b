"""From record keys to the file groups that hold them."""
