"""Codes of users and corpora: headers, code tables, statements, and their coverage by the graph."""
