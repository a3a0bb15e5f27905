"""Files: addresses that fsspec reaches and their local copies, JSON and TOML of bounded size, locks."""
