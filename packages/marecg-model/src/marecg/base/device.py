"""Default device: the one that a model runs on if the caller names none."""

import torch


def best_device() -> torch.device:
    """Return a GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
