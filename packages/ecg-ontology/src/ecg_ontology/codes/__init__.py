"""Codes of users and corpora: code tables, mappings, and their coverage by the graph."""
