"""Rolling back writes that did not end."""
