"""Read and write graphs as bundles, Turtle, other RDF and SSSOM, and convert networkx graphs."""
