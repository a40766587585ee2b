"""Reading tables with Spark: ``import spark_jobs.query as pyhudi``."""

from spark_jobs.query.read import read
from spark_jobs.query.views import register_tables

__all__ = ["read", "register_tables"]
