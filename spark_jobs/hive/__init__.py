"""Hive sync: a Hudi table's schema and partitions in a Hive metastore.

Nothing here needs Spark; only the server of ``embedded`` needs Java.
"""
