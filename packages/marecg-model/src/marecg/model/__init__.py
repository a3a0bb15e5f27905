"""The exported model: encoder, pool and concept prototypes, with its ontology and its model card.

This package saves, loads and runs models. It doesn't depend on the code that trains them.
"""
