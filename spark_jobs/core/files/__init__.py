"""Names and bytes of base files, log files and partition metafiles."""
