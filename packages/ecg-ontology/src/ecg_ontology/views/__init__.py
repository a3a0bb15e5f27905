"""Show the graph: explanation, search, languages, figures, the browse page and exports."""
