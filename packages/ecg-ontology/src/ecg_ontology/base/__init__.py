"""Basic functions: errors, reading of sources, tables, text folding and XML entities."""
