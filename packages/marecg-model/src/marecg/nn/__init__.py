"""Modules of the network, independent of data and losses.

Docstrings refer to the MAR-ECG paper: § names a section, and eq. an equation. `H` is the encoder's output,
with a vector per patch and lead.

The encoder is built from `tokens`, `attention`, `revin` and `encoder`. `pooling` and `prototypes` process its
output.
"""
