"""What a trained model is for: embeddings, concepts, files of vectors, exports.

Nothing here trains or judges.
"""
