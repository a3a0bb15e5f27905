"""Pretraining: from a corpus and a recipe to a run folder.

`run` trains a model. `network` is the paper's forward pass. `lightning_module` and `callbacks` are the loop.
"""
