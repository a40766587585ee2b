"""Tables of version 6, and of the older ones that are laid out as they are."""
