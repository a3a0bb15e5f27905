"""Sources of features: encoder, hand-crafted measurements, MiniRocket, ResNet, files; and zero-shot.

Each is a `Method`.
"""
