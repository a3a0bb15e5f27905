"""Embeddings of ECGs: one record, many in memory, or folders into files."""
