"""Time a matrix product, and attention across the twelve leads.

Axes: records and their patches, leads, heads, width of a head.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from ecg_records.signal.leads import LEADS
from marecg.model.config import ModelConfig

BACKENDS = (
    None,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.MATH,
)


def product_rate(device: torch.device, size: int, calls: int) -> float:
    """Return the FLOP/s of a square bf16 product. Many calls bring the clocks to their long-term rate."""
    a, b = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    return 2 * size**3 / per_call(lambda: a @ b, device, calls)


def under(backend: SDPBackend | None) -> AbstractContextManager[None]:
    """Return a context in which attention uses a backend of SDPA, or torch's choice if None."""
    return nullcontext() if backend is None else sdpa_kernel(backend)


def spatial(backend: SDPBackend | None, device: torch.device, records: int, calls: int) -> dict[str, Any]:
    """Time attention across the leads, forward and backward, with a backend. Return a row for JSON."""
    model = ModelConfig()
    shape = (records * model.context_patches, len(LEADS), model.heads, model.width // model.heads)
    parts = [torch.randn(shape, device=device, dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]

    def both_ways() -> None:
        query, key, value = (part.transpose(1, 2) for part in parts)  # the same strides as in the encoder
        scaled_dot_product_attention(query, key, value).sum().backward()  # type: ignore[no-untyped-call]

    row = {"backend": "torch's choice" if backend is None else backend.name, "ms": 0.0, "problem": ""}
    try:
        with under(backend):
            row["ms"] = per_call(both_ways, device, calls) * 1e3
    except RuntimeError as error:
        row["problem"] = in_short(error)
    return row


def per_call(action: Callable[[], object], device: torch.device, calls: int) -> float:
    """Return the seconds per call, after a first call that isn't counted."""
    action()
    synchronise(device)
    start = time.perf_counter()
    for _ in range(calls):
        action()
    synchronise(device)
    return (time.perf_counter() - start) / calls


def synchronise(device: torch.device) -> None:
    """Wait until a GPU has finished all its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def in_short(error: Exception) -> str:
    """Return the first line of an error."""
    if isinstance(error, torch.OutOfMemoryError):
        return "out of memory"
    return f"{type(error).__name__}: {str(error).strip()}".splitlines()[0]
