"""Schemas: meta columns, Avro and Arrow."""
