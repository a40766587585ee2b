"""File groups and slices, built from a listing and the timeline."""
