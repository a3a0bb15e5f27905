"""Access storage: fsspec addresses and their local copies, JSON and TOML of limited size, and locks."""
