"""Read and write files of the graph: bundle, Turtle and RDF, SSSOM, OBO, networkx."""
