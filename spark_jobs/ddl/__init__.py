"""Tables from Hudi's DDL: the text of ``create table ... using hudi`` parsed, and what it leaves on storage."""

from spark_jobs.ddl.create import create_table_from_ddl
from spark_jobs.ddl.properties import table_properties
from spark_jobs.ddl.statement import CreateTable, parse_create_table

__all__ = ["CreateTable", "create_table_from_ddl", "parse_create_table", "table_properties"]
