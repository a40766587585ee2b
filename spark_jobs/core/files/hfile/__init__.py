"""HFile version 3, HBase's sorted key-value file: the metadata table, its log blocks, the bootstrap index."""
