"""The parts of the network: modules that know neither data nor losses.

`encoder` is made of `tokens`, `attention` and `revin`; `pooling` and `prototypes` read what it says.
"""
