"""ECGs → vectors: of one record, of many in memory, and of folders into files."""
