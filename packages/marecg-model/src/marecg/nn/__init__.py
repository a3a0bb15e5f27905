"""Parts of the network: modules without knowledge of data or losses.

`encoder` is made of `tokens`, `attention` and `revin`; `pooling` and `prototypes` read what it says.
"""
