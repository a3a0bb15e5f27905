"""Modules of the network, independent of data and losses.

The encoder is built from `tokens`, `attention`, `revin` and `encoder`. `pooling` and `prototypes` process its
output.
"""
