"""Activation checkpointing: peak memory and time of a step beside one that keeps everything.

Memory is what the operating system says of a process that takes one step. Run as a module it is such a
process: `python -m benchmarks.checkpointing on 12`.

Shapes: B records, T patches, C leads, D width.
"""

import os
import resource
import subprocess
import sys
from pathlib import Path

import torch

from benchmarks.ratio import Action, Effort, Reach, Row, costs
from ecg_records.signal.leads import LEADS
from marecg.model.config import ModelConfig
from marecg.nn.encoder import Encoder

DEEPER = 3
"""Memory is compared at so many times the depth at which steps are timed: at the paper's 12 blocks."""
EVERY_TENSOR_MAPPED = {"MALLOC_MMAP_THRESHOLD_": "65536"}
"""Has glibc hand freed tensors back, so that a peak counts tensors and not the holes between them."""


def memory(effort: Effort) -> list[float]:
    """Peak memory with checkpointing over that without; the same each time, so it is taken once."""
    kept = {}
    for checkpointing in ("on", "off"):
        arguments = ["-m", "benchmarks.checkpointing", checkpointing, str(DEEPER * effort.depth)]
        done = subprocess.run(  # noqa: S603 — our own module
            [sys.executable, *arguments],
            stdout=subprocess.PIPE,
            check=True,
            env=os.environ | EVERY_TENSOR_MAPPED,
        )
        kept[checkpointing] = int(done.stdout)
    return [kept["on"] / kept["off"]]


def time(effort: Effort) -> list[float]:
    """Seconds with checkpointing over those without."""
    on, off = (_step(_encoder(checkpointing=which, depth=effort.depth)) for which in (True, False))
    return costs(on, off, effort)


def beyond_parameters(*, checkpointing: bool, depth: int) -> int:
    """By how much this process grows in a step, parameters, gradients and buffers being there before."""
    encoder = _encoder(checkpointing=checkpointing, depth=depth)
    _step(encoder, patches=2)()
    step = _step(encoder)
    before = _largest()
    step()
    return _largest() - before


def _encoder(*, checkpointing: bool, depth: int) -> Encoder:
    config = ModelConfig()
    encoder = Encoder(config.width, depth, config.heads, config.mlp_ratio)
    encoder.checkpoint_activations = checkpointing
    return encoder


def _step(encoder: Encoder, patches: int = ModelConfig().context_patches) -> Action:
    """A forward and backward pass of one record at full width."""
    x_BTCD = torch.randn(1, patches, len(LEADS), ModelConfig().width)
    return lambda: encoder(x_BTCD).sum().backward()


def _largest() -> int:
    """The most memory that this process had so far; only ratios of it are used."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux, getrusage also counts what the parent had before this process began
        (line,) = (line for line in status.read_text(encoding="ascii").splitlines() if "VmHWM" in line)
        return int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


KEEPS = "a step that keeps all"
LIMIT = "(12 inputs + 1 block) / 12 blocks"
ROWS = (
    Row("checkpoint-memory", "checkpointed step, peak memory", KEEPS, Reach("≤", 0.15), LIMIT, memory),
    Row("checkpoint-time", "checkpointed step, time", KEEPS, Reach("≤", 1.33), "4/3", time),
)

if __name__ == "__main__":
    grown = beyond_parameters(checkpointing=sys.argv[1] == "on", depth=int(sys.argv[2]))
    sys.stdout.write(str(grown))
