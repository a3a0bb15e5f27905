"""Choose the device on which a model runs."""

import torch

from marecg.errors import UsageError


def best_device() -> torch.device:
    """Return the device `cuda` if PyTorch finds a CUDA GPU, otherwise `cpu`."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def named_device(name: str | torch.device) -> torch.device:
    """Return a device by its name, such as `cuda:1`. Raises `UsageError` if it isn't available."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        here = "cuda or cpu" if torch.cuda.is_available() else "cpu"
        raise UsageError(f"device {str(name)!r} isn't available", remedy=f"Use {here}") from error
    return device
