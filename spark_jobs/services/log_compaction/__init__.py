"""Log compaction: the blocks of a slice's logs merged into one block of a new log file."""
