"""The archive of a timeline: what is asked of its form, and the forms that there are."""
