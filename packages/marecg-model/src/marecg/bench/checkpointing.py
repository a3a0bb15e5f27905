"""Activation checkpointing: peak memory and time of a step beside one that keeps everything.

Each step runs in a process of its own, the two kinds in turns; the operating system says how large each got.
Run as a module it is such a process: `python -m marecg.bench.checkpointing on 12`.
"""

import json
import resource
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch

from marecg.bench.ratio import Effort, Reach, Row, seconds
from marecg.config import LEADS, ModelConfig
from marecg.nn.encoder import Encoder


class Step(NamedTuple):
    """What a step cost: memory beyond parameters and gradients, and seconds."""

    memory: float
    seconds: float


def memory(effort: Effort) -> list[float]:
    """Peak memory with checkpointing over that without."""
    return [on.memory / off.memory for on, off in _pairs(effort)]


def time(effort: Effort) -> list[float]:
    """Seconds with checkpointing over those without."""
    return [on.seconds / off.seconds for on, off in _pairs(effort)]


@cache
def _pairs(effort: Effort) -> list[tuple[Step, Step]]:
    depth = 3 * effort.depth
    return [(_in_process("on", depth), _in_process("off", depth)) for _ in range(min(effort.repeats, 3))]


def _in_process(checkpointing: str, depth: int) -> Step:
    command = [sys.executable, "-m", "marecg.bench.checkpointing", checkpointing, str(depth)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)  # noqa: S603 — our own module
    return Step(*json.loads(done.stdout))


def step(*, checkpointing: bool, depth: int) -> Step:
    """A forward and backward pass of one record through the encoder at full width."""
    config = ModelConfig(depth=depth)
    encoder = Encoder(config.width, config.depth, config.heads, config.mlp_ratio)
    encoder.checkpoint_activations = checkpointing
    x_BTCD = torch.randn(1, config.context_patches, len(LEADS), config.width)
    # Two patches warm up: gradients and the libraries' buffers are there before the step.
    encoder(x_BTCD[:, :2]).sum().backward()
    before = _largest()
    taken = seconds(lambda: encoder(x_BTCD).sum().backward())
    return Step(_largest() - before, taken)


def _largest() -> int:
    """The most memory that this process had so far; only ratios of it are used."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux, getrusage also counts what the parent had before this process began
        (line,) = (line for line in status.read_text(encoding="ascii").splitlines() if "VmHWM" in line)
        return int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


ROWS = (
    Row(
        "checkpoint-memory",
        "checkpointed step, peak memory",
        "a step that keeps all",
        Reach("≤", 0.15),
        "(12 inputs + 1 block) / 12 blocks",
        memory,
    ),
    Row("checkpoint-time", "checkpointed step, time", "a step that keeps all", Reach("≤", 1.33), "4/3", time),
)

if __name__ == "__main__":
    sys.stdout.write(json.dumps(step(checkpointing=sys.argv[1] == "on", depth=int(sys.argv[2]))))
