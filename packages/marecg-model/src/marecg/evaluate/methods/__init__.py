"""Methods that a probe compares: encoders, zero-shot, hand-crafted features, baselines and files.

Each of them is a `Method`.
"""
