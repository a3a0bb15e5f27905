"""Define the graph of concepts: hierarchy, enumeration, routing from codes to concepts, and soft targets."""
