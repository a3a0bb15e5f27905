"""Measure activation checkpointing: peak memory and time of a step, relative to a step without it.

Memory is the peak of a process that takes a single step. The process runs this module:
`python -m benchmarks.checkpointing on 12`.

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
"""Ratio of the depth for memory (the paper's 12 blocks) to the depth for time."""
EVERY_TENSOR_MAPPED = {"MALLOC_MMAP_THRESHOLD_": "65536"}
"""Settings with which glibc returns freed tensors to the system. So the peak has no unused memory."""


def memory(effort: Effort) -> list[float]:
    """Return the peak memory with checkpointing divided by the peak without. It is measured only once."""
    peak = {}
    for checkpointing in ("on", "off"):
        arguments = ["-m", "benchmarks.checkpointing", checkpointing, str(DEEPER * effort.depth)]
        done = subprocess.run(  # noqa: S603 — our own module
            [sys.executable, *arguments],
            stdout=subprocess.PIPE,
            check=True,
            env=os.environ | EVERY_TENSOR_MAPPED,
        )
        peak[checkpointing] = int(done.stdout)
    return [peak["on"] / peak["off"]]


def time(effort: Effort) -> list[float]:
    """Return the time of a step with checkpointing divided by the time without."""
    on, off = (_step(_encoder(checkpointing=enabled, depth=effort.depth)) for enabled in (True, False))
    return costs(on, off, effort)


def beyond_parameters(*, checkpointing: bool, depth: int) -> int:
    """Return by how much this process grows in a step. Parameters, gradients and buffers exist before."""
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
    """Return a forward and backward pass of one record at full width."""
    x_BTCD = torch.randn(1, patches, len(LEADS), ModelConfig().width)
    return lambda: encoder(x_BTCD).sum().backward()


def _largest() -> int:
    """Return the peak memory of this process. The unit depends on the system."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux, getrusage includes the memory of the parent before the fork
        (line,) = (line for line in status.read_text(encoding="ascii").splitlines() if "VmHWM" in line)
        return int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


KEEPS = "a step without it"
LIMIT = "(12 inputs + 1 block) / 12 blocks"
ROWS = (
    Row(
        "checkpoint-memory",
        "peak memory of a step with activation checkpointing",
        KEEPS,
        Reach("≤", 0.15),
        LIMIT,
        memory,
    ),
    Row(
        "checkpoint-time",
        "time of a step with activation checkpointing",
        KEEPS,
        Reach("≤", 1.33),
        "4/3",
        time,
    ),
)

if __name__ == "__main__":
    grown = beyond_parameters(checkpointing=sys.argv[1] == "on", depth=int(sys.argv[2]))
    sys.stdout.write(str(grown))
