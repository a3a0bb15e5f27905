"""Train a model on a corpus with a recipe, and write a run folder.

`run` is the entry point. `network` contains the forward pass of the paper. `lightning_module` and `callbacks`
contain the training loop.
"""
