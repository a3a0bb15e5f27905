"""Readouts of H for linear probes: the wide readout, the beat readout and the full readout.

h_rhythm (eq. rhythm-pool) reads H through a single attention and loses three things. It has one vector for
all leads, RevIN has removed the leads' amplitudes, and no token shows how regular the beats are. The wide
readout keeps them. It contains simple statistics of H over time, the mean of H per lead, and the scale that
RevIN divided by. With `ModelConfig.modulation` it also contains the modulation spectrum.

A mean over all patches blurs the parts of a beat. The beat readout averages over beats instead, separately
for each part of the beat. The QRS patch begins 80 ms before the R-peak and contains the whole QRS. The
patches around it show P, ST and T. The beat readout follows the wide readout in the same vector.

The full readout adds, per lead, the P, ST and T parts of the beat. It also adds the maximum, minimum and mean
of each part in mV, and the measurements of an ECG machine (`ecg_records.measurements.measured`).

Shapes: B batch, T patches, C leads, D width, M bands of the modulation spectrum or 0, W = (4 + C)·D + C + M;
J patches of a beat, V = W + (J + C)·D, P samples of a patch; H heights of a part.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecg_records.signal.leads import LEADS
from marecg.model.config import ModelConfig
from marecg.nn.modulation import BANDS
from marecg.nn.pooling import lead_mean, real_or_all

Readout = Literal["rhythm", "wide", "beats", "full"]
"""Names of the readouts, from smallest to largest. Each is one vector per record."""
BEAT = (-0.28, -0.08, 0.12, 0.32)
"""Seconds from an R-peak to the beginnings of its beat's J patches."""
QRS = 1
"""Index of the patch that contains the QRS."""
OTHERS = {"p": 0, "st": 2, "t": 3}
"""Indices of the other patches by name."""
HEIGHTS = 3
"""H: the highest, the lowest and the mean sample of a beat's part in a lead, in mV around the lead's mean."""
LEAST_VARIANCE = 1e-12
"""Smallest variance before the square root, so that the gradient stays finite."""


class Block(NamedTuple):
    """Named part of a readout, with the rule for joining the windows of a recording.

    Attributes:
        name: name of the block in `wide_columns`.
        width: number of values.
        joined: rule for joining. `windows` is the mean over windows. `beats` is the sum over windows divided
            by the number of beats. `measured` is the mean over the measured windows.
    """

    name: str
    width: int
    joined: Literal["windows", "beats", "measured"] = "windows"


def blocks(config: ModelConfig, readout: Readout = "wide") -> list[Block]:
    """Return the blocks of a readout in the order of concatenation."""
    width, by_lead = config.width, len(LEADS) * config.width
    if readout == "rhythm":
        return [Block("rhythm", width)]
    found = [Block(name, width) for name in ("rhythm", "mean", "max", "std")]
    found += [Block("leads", by_lead), Block("log_std", len(LEADS))]
    if config.modulation:
        found.append(Block("modulation", BANDS))
    if readout in ("beats", "full"):
        found += [Block("beat", len(BEAT) * width, "beats"), Block("qrs", by_lead, "beats")]
    if readout == "full":
        from ecg_records.measurements.measured import WIDTH  # noqa: PLC0415 (few readouts measure)

        found += [Block(name, by_lead, "beats") for name in OTHERS]
        found.append(Block("heights", len(BEAT) * len(LEADS) * HEIGHTS, "beats"))
        found.append(Block("measured", WIDTH, "measured"))
    return found


def readout_width(config: ModelConfig, readout: Readout = "wide") -> int:
    """Return the length of an encoder's readout: 12,300 at the paper's width of 768."""
    return sum(block.width for block in blocks(config, readout))


def wide_columns(config: ModelConfig, readout: Readout = "wide") -> dict[str, slice]:
    """Return the columns of each block of a readout, by the block's name."""
    found = blocks(config, readout)
    ends = accumulate(block.width for block in found)
    return {block.name: slice(end - block.width, end) for block, end in zip(found, ends, strict=True)}


def views(config: ModelConfig, readout: Readout) -> tuple[slice, ...]:
    """Return the columns of each view of a readout.

    A probe fits a classifier per view and averages the logits. The full readout has three views: all values
    from the encoder, the beat readout among these values, and the measurements.
    """
    columns = wide_columns(config, readout)
    if "measured" not in columns:
        return (slice(0, readout_width(config, readout)),)
    beats = slice(0, readout_width(config, "beats"))
    return slice(0, columns["measured"].start), beats, columns["measured"]


def part_weights(config: ModelConfig, readout: Readout) -> NDArray[np.float32]:
    """Return a factor per standardised value, [V], that gives all parts of a readout equal weight.

    Without the factors, the many values of leads and beats would outweigh the other parts.
    """
    widths = [block.width for block in blocks(config, readout)]
    return np.repeat(np.sqrt(config.width / np.array(widths)), widths).astype(np.float32)


def wide_readout(
    rhythm_BD: Tensor,
    h_BTCD: Tensor,
    log_std_BC: Tensor,
    real_BT: Tensor,
    absent_BC: Tensor | None = None,
    modulation_BM: Tensor | None = None,
) -> Tensor:
    """Return the wide readout, the concatenated parts of `wide_columns`, [B, W].

    The parts are:

    - h_rhythm;
    - mean, max and std of H̄ over time;
    - each lead's mean of H;
    - each lead's log scale, with the standard deviation in mV that RevIN divided by;
    - the modulation spectrum, if given.

    Patches of padding (`real_BT` False) are ignored. The log scale of an absent lead is the mean over the
    present leads. Its mean of H is the encoder's inference from the present leads.
    """
    real_BT1 = real_or_all(real_BT)[..., None]
    share_BT1 = real_BT1.to(h_BTCD.dtype)
    share_BT1 = share_BT1 / share_BT1.sum(1, keepdim=True)
    h_bar_BTD = lead_mean(h_BTCD)
    lead_BCD = (share_BT1.transpose(1, 2) @ h_BTCD.flatten(2)).reshape(-1, *h_BTCD.shape[2:])
    mean_BD = lead_BCD.mean(1)
    variance_BD = ((h_bar_BTD - mean_BD[:, None]).square() * share_BT1).sum(1)
    max_BD = h_bar_BTD.masked_fill(~real_BT1, -torch.inf).amax(1)
    std_BD = variance_BD.clamp(min=LEAST_VARIANCE).sqrt()
    if absent_BC is not None:
        given_BC = (~absent_BC).to(log_std_BC.dtype)
        usual_B1 = (log_std_BC * given_BC).sum(1, keepdim=True) / given_BC.sum(1, keepdim=True).clamp(min=1)
        log_std_BC = torch.where(absent_BC, usual_B1, log_std_BC)
    parts = [rhythm_BD, mean_BD, max_BD, std_BD, lead_BCD.flatten(1), log_std_BC]
    return torch.cat(parts if modulation_BM is None else [*parts, modulation_BM], 1)


def beat_sums(h_BTCD: Tensor, beats_BJT: Tensor) -> Tensor:
    """Sum the lead mean of H over the beats' patches, and each lead's H over the QRS patches, [B, V − W].

    `beats_BJT` is the number of beats whose j-th patch is patch t.
    """
    beats_BJT = beats_BJT.to(h_BTCD.dtype)
    beat_BJD = beats_BJT @ lead_mean(h_BTCD)
    qrs_BCD = torch.einsum("bt,btcd->bcd", beats_BJT[:, QRS], h_BTCD)
    return torch.cat([beat_BJD.flatten(1), qrs_BCD.flatten(1)], 1)


def part_sums(h_BTCD: Tensor, mv_BTCP: Tensor, beats_BJT: Tensor) -> Tensor:
    """Sum each lead's H over the patches of P, ST and T, and the heights in mV, [B, 3·C·D + J·C·H].

    `mv_BTCP` contains the patches in mV, centred on each lead's mean.
    """
    beats_BJT = beats_BJT.to(h_BTCD.dtype)
    lead_BJCD = torch.einsum("bjt,btcd->bjcd", beats_BJT[:, list(OTHERS.values())], h_BTCD)
    height_BTCH = torch.stack([mv_BTCP.amax(-1), mv_BTCP.amin(-1), mv_BTCP.mean(-1)], -1)
    height_BJCH = torch.einsum("bjt,btch->bjch", beats_BJT, height_BTCH.to(h_BTCD.dtype))
    return torch.cat([lead_BJCD.flatten(1), height_BJCH.flatten(1)], 1)


def joined_readout(
    total_V: NDArray[np.float64],
    windows: int,
    beats: float,
    measured: Sequence[NDArray[np.float32]],
    found: Iterable[Block],
) -> NDArray[np.float64]:
    """Return a recording's readout from the results of its windows.

    If a recording has no beats, means over all patches replace the means over beats, and heights are zero.

    Args:
        total_V: sums over the windows of all blocks except the measured block.
        windows: number of windows.
        beats: number of beats in the windows.
        measured: measured values of each measured window.
        found: blocks of the readout.
    """
    values: dict[str, NDArray[Any]] = {}
    start = 0
    for block in found:
        if block.joined == "measured":
            values[block.name] = np.mean(measured, axis=0)
            continue
        sum_ = total_V[start : start + block.width]
        start += block.width
        if block.joined == "windows":
            values[block.name] = sum_ / windows
        elif beats:
            values[block.name] = sum_ / beats
        elif block.name == "beat":
            values[block.name] = np.tile(values["mean"], len(BEAT))
        elif block.name == "heights":
            values[block.name] = np.zeros(block.width)
        else:
            values[block.name] = values["leads"]
    return np.concatenate(list(values.values()))
