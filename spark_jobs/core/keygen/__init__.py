"""Record keys and partition paths from columns."""
