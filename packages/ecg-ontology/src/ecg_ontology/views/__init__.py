"""Views of the graph for people: explanation, search, languages, figures, the browse page and exports."""
