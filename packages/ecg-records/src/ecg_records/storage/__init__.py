"""Storage: fsspec addresses and their local copies, JSON and TOML of bounded size, and locks."""
