"""Changes of the graph: build, review sheets, decisions, label matching and differences."""
