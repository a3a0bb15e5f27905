"""Basics of the package: errors, sources as text, tables, text folding and XML entities."""
