"""Readouts of H for linear probes: the wide readout, and the beat readout that extends it.

h_rhythm (eq. rhythm-pool) reads H through one attention, RevIN has taken the leads' heights away before, and
how evenly beats follow one another is in no token. The wide readout keeps them: simple statistics of H over
time, for each lead too, the scale that RevIN divided by, and with `ModelConfig.modulation` the modulation
spectrum.

A mean over all patches blurs what happens within a beat. The beat readout is a mean over beats of the patches
that show the same part of each: the one that begins 80 ms before the R-peak, so that a QRS lies whole in it,
and those around it, which show P, ST and T. It follows the wide readout in one vector.

The full readout adds the other three parts of the beat by lead, how high and how low each part is
in mV, and what an ECG machine measures (`ecg_records.measurements.measured`).

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
"""What is read of a record as one vector: h_rhythm, the wide readout, the beats' too, or all there is."""
BEAT = (-0.28, -0.08, 0.12, 0.32)
"""Seconds from an R-peak to the beginnings of its beat's J patches."""
QRS = 1
"""Which of them holds the QRS."""
OTHERS = {"p": 0, "st": 2, "t": 3}
"""The others by name."""
HEIGHTS = 3
"""H: the highest, the lowest and the mean sample of a beat's part in a lead, in mV around the lead's mean."""
LEAST_VARIANCE = 1e-12
"""Below it a spread counts as none, so that its root has a slope."""


class Block(NamedTuple):
    """Named part of a readout, and how the windows of a recording are joined into it.

    Attributes:
        name: its name in `wide_columns`.
        width: its number of values.
        joined: the mean over the `windows`; the sum over them for each of the `beats`; or the mean over
            the windows that were `measured`.
    """

    name: str
    width: int
    joined: Literal["windows", "beats", "measured"] = "windows"


def blocks(config: ModelConfig, readout: Readout = "wide") -> list[Block]:
    """Return the blocks of a readout in the order in which they are concatenated."""
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
    """Return the columns of the readout's views; a probe fits a classifier per view and averages the logits.

    Those of the full readout are what the encoder sees, of that once more the beat readout, and what is
    measured.
    """
    columns = wide_columns(config, readout)
    if "measured" not in columns:
        return (slice(0, readout_width(config, readout)),)
    beats = slice(0, readout_width(config, "beats"))
    return slice(0, columns["measured"].start), beats, columns["measured"]


def part_weights(config: ModelConfig, readout: Readout) -> NDArray[np.float32]:
    """Return a factor per standardised value, [V], that gives all parts of a readout equal weight.

    Standardised values count alike one by one, so leads and beats, of which there are most, drown the rest.
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
    """Return the wide readout: the parts of `wide_columns` side by side, [B, W].

    They are h_rhythm; mean, max and std of H̄ over time; each lead's mean of H; each lead's log scale, the
    standard deviation in mV that RevIN divided it by; and the modulation spectrum, if there is one. Patches
    of padding, where `real_BT` is False, count for nothing. Of a lead that was not given the log scale is the
    mean of the others', and its mean of H what the encoder makes of it by the others.
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
    """Sum H over the beats' patches: its means over leads, and every lead's QRS patch, [B, V − W].

    `beats_BJT` says how many beats have their j-th patch where patch t is.
    """
    beats_BJT = beats_BJT.to(h_BTCD.dtype)
    beat_BJD = beats_BJT @ lead_mean(h_BTCD)
    qrs_BCD = torch.einsum("bt,btcd->bcd", beats_BJT[:, QRS], h_BTCD)
    return torch.cat([beat_BJD.flatten(1), qrs_BCD.flatten(1)], 1)


def part_sums(h_BTCD: Tensor, mv_BTCP: Tensor, beats_BJT: Tensor) -> Tensor:
    """Sum H over the patches of P, ST and T by lead, and the heights in mV, [B, 3·C·D + J·C·H].

    `mv_BTCP` are the patches in mV around each lead's mean.
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
    """Return a recording's readout from what its windows gave.

    A recording without beats has the means over all patches in place of the means over beats, and no heights.

    Args:
        total_V: the sums over the windows of all blocks but the measured one.
        windows: how many they were.
        beats: how many beats lay in them.
        measured: the measured values of each window that was measured.
        found: the blocks of the readout.
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
