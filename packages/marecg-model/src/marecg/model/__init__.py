"""The exported model: encoder, pooling and prototypes, saved and loaded with its ontology and its card.

Nothing here depends on how the model was trained.
"""
