"""Uses of a trained model: predictions, answers, exports, scikit-learn.

Nothing here trains or judges.
"""
