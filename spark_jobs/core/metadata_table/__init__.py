"""The metadata table: its files and indexes, and what a commit changes in them."""
