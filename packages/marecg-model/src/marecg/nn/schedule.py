"""Schedule of a learning rate."""

import math


def cosine(step: int, warmup: float, last: float, floor: float = 0.0) -> float:
    """Return the learning rate as a share of its peak.

    The rate rises linearly until step `warmup`, then falls along half a cosine to `floor` at step `last`.
    """
    if step < warmup:
        return (step + 1) / (warmup + 1)
    progress = (step - warmup) / max(1.0, last - warmup)
    return floor + (1 - floor) * (1 + math.cos(math.pi * min(1.0, progress))) / 2
