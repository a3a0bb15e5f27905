"""Codes of users and corpora: SNOMED headers, code tables, and the share of them that the graph covers."""
