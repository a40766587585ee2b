"""Indexes of the metadata table, made beside running writers (Hudi: HoodieIndexer)."""
