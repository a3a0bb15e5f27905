"""Codes of users and corpora: code tables, mappings, statements, and their coverage by the graph."""
