"""Curate the graph: building, review sheets, decisions, label matching and differences."""
