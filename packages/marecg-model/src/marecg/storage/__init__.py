"""Files that lie elsewhere: addresses that fsspec reaches, and their copies on this machine."""
