"""Uses of a trained model: embeddings, concepts, classifiers, neighbours, exports.

Nothing here trains or judges.
"""
