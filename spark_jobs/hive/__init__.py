"""Hive sync: a Hudi table's schema and partitions in a Hive metastore. Nothing here needs Spark or Java."""
