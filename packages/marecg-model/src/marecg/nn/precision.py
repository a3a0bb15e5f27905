"""Float32 for contrastive losses under autocast.

These losses divide by a small temperature, which would magnify the rounding errors of bf16.
"""

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any, ParamSpec

import torch
from torch import Tensor

P = ParamSpec("P")


def in_float32(compute: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """Decorate a function of tensors, so that it computes in float32 even under autocast."""

    @wraps(compute)
    def computed(*args: P.args, **kwargs: P.kwargs) -> Tensor:
        arguments: list[Any] = [_at_least_float32(argument) for argument in args]
        keywords: dict[str, Any] = {name: _at_least_float32(value) for name, value in kwargs.items()}
        tensors = (value for value in (*arguments, *keywords.values()) if isinstance(value, Tensor))
        device = next(tensors).device.type
        autocast = torch.amp.is_autocast_available(device)  # False for meta tensors
        with torch.autocast(device, enabled=False) if autocast else nullcontext():
            return compute(*arguments, **keywords)

    return computed


def _at_least_float32(value: object) -> object:
    if isinstance(value, Tensor) and value.dtype in (torch.bfloat16, torch.float16):
        return value.float()
    return value
