"""Clustering: small files rewritten into sorted, larger ones."""
