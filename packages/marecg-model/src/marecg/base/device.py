"""Devices that a model runs on, chosen by name or by default."""

import torch

from marecg.errors import UsageError


def best_device() -> torch.device:
    """Return a GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def named_device(name: str | torch.device) -> torch.device:
    """Return a device by its name, such as `cuda:1`. Raises `UsageError` if this machine lacks the device."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        here = "cuda or cpu" if torch.cuda.is_available() else "cpu"
        raise UsageError(f"device {str(name)!r} isn't available", remedy=f"Use {here}") from error
    return device
