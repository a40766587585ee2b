"""Bootstrap: a table over Parquet files that are there (Hudi: SparkBootstrapCommitActionExecutor)."""
