"""Remote files: addresses that fsspec reaches, and their local copies."""
