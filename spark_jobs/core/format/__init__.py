"""What differs between the versions of a table: the rest of the core asks for it here."""
