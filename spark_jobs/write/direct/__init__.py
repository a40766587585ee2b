"""Writes whose tasks read the Parquet source themselves, so that its rows never pass through the JVM."""
