"""Uses of a trained model: predictions, answers, exports, scikit-learn.

No module here trains or evaluates an encoder.
"""
