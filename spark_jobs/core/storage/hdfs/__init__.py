"""HDFS: a file system with folders, atomic renames and one clock, but without versions, locks or links."""
