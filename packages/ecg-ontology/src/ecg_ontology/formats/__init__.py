"""Files of the graph, read and written: bundle, Turtle and RDF, SSSOM, OBO, networkx."""
