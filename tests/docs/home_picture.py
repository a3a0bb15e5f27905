"""The picture of the home page: `python -m tests.docs.home_picture` writes it.

A synthetic ECG, always the same, and the concepts that the shipped encoder puts it next to.
"""
