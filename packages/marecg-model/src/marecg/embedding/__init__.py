"""Compute embeddings of ECGs, from arrays in memory or from folders of records."""
