"""The device that a model runs on where none is named."""

import torch


def best_device() -> torch.device:
    """A GPU if there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
