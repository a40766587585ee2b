"""What a commit tells the metadata table."""
