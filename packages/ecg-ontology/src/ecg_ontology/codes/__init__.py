"""Read codes of users and corpora: code tables, mappings, and coverage by the graph."""
