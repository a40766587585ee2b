"""What runs a job: Spark or this process, its options, progress and result."""
