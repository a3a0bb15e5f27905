"""Readouts, vectors of features per record: the rhythm, wide, beat and full readout. Linear probes read them.

The encoder's output H has a vector per patch and lead, and H̄ is its mean over leads. The rhythm readout is
h_rhythm (eq. rhythm-pool), the embedding of a record. h_rhythm loses three kinds of information. It doesn't
separate the leads, normalisation (RevIN) has removed their amplitudes, and no token shows how regular the
beats are. The wide readout keeps more. It adds statistics of H̄ over time, the mean of H per lead, and the
standard deviation of each lead, which RevIN removed. If `ModelConfig.modulation` is True, it also adds the
modulation spectrum, which shows the rate and regularity of the beats (`marecg.nn.modulation`).

A mean over all patches blurs the parts of a beat. To the wide readout, the beat readout therefore adds the
mean of each part of the beat over all beats. The QRS patch begins 80 ms before the R-peak and contains the
whole QRS. The patches around it show P, ST and T.

To the beat readout, the full readout adds the P, ST and T parts of the beat for each lead. It also adds the
maximum, minimum and mean of each part in mV, and measurements such as an ECG machine makes
(`ecg_records.measurements.measured`).

A readout is a sequence of named blocks (`blocks`). The network returns `Features`, which has a field for each
block except `measured`, the measurements. `JoinedWindows` joins the blocks of a recording's windows and
concatenates them.

Shapes: B batch, T patches, C leads, D width, M bands of the modulation spectrum, W values of the wide
readout, J patches of a beat, V values of any readout, P samples of a patch, H heights of a part, F measured
values.
"""

from collections.abc import Mapping
from itertools import accumulate
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecg_records.signal.leads import LEADS
from marecg.model.config import ModelConfig
from marecg.nn.modulation import BANDS
from marecg.nn.pooling import lead_mean, real_or_all

Readout = Literal["rhythm", "wide", "beats", "full"]
"""Names of the readouts, from smallest to largest. A readout is a vector per record."""
BEAT = (-0.28, -0.08, 0.12, 0.32)
"""Start of each of the J patches of a beat, in seconds after the R-peak."""
QRS = 1
"""Index of the patch in `BEAT` that contains the QRS."""
OTHERS = {"p": 0, "st": 2, "t": 3}
"""Indices of the other patches in `BEAT`, by name."""
HEIGHTS = 3
"""Number H of heights of a beat's part in a lead: maximum, minimum and mean, in mV from the lead's mean."""
LEAST_VARIANCE = 1e-12
"""Smallest variance of which the square root is taken. The gradient of √0 would be infinite."""


class Block(NamedTuple):
    """Named part of a readout.

    Attributes:
        name: name of the block. Every block except `measured` is also a field of `Features`.
        width: number of values.
        joined: how the windows of a recording are joined. `windows` is the mean over windows. `beats` is the
            sum over windows, divided by the number of beats. `measured` is the mean over windows with
            measurements.
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
    """Return the number of values in a readout. The wide readout has 12,300 at the paper's width of 768."""
    return sum(block.width for block in blocks(config, readout))


def wide_columns(config: ModelConfig, readout: Readout = "wide") -> dict[str, slice]:
    """Return the columns of each block of a readout, by the block's name."""
    found = blocks(config, readout)
    ends = accumulate(block.width for block in found)
    return {block.name: slice(end - block.width, end) for block, end in zip(found, ends, strict=True)}


def columns_within(config: ModelConfig, readout: Readout, larger: Readout) -> slice:
    """Return the columns of a larger readout that make up a smaller readout."""
    columns, found = wide_columns(config, larger), blocks(config, readout)
    return slice(columns[found[0].name].start, columns[found[-1].name].stop)


def views(config: ModelConfig, readout: Readout) -> tuple[slice, ...]:
    """Return the columns of each view of a readout.

    A view is a part of the columns. A probe fits a classifier for each view, and averages their logits.

    The full readout has three views: all blocks except `measured`, the beat readout, and `measured`. Every
    other readout has a single view.
    """
    if readout != "full":
        return (columns_within(config, readout, readout),)
    columns = wide_columns(config, "full")
    of_encoder = slice(columns["rhythm"].start, columns["heights"].stop)
    return of_encoder, columns_within(config, "beats", "full"), columns["measured"]


def part_weights(config: ModelConfig, readout: Readout) -> NDArray[np.float32]:
    """Return a factor for each standardised value, [V], so that all blocks of a readout have equal weight.

    Without the factors, large blocks such as `leads` and `beat` would outweigh the others.
    """
    widths = [block.width for block in blocks(config, readout)]
    return np.repeat(np.sqrt(config.width / np.array(widths)), widths).astype(np.float32)


class Features(NamedTuple):
    """Output of the network for a batch: H̄ (`patch`, [B, T, D]), and the blocks of a readout, [B, width].

    The blocks from `beat` to `heights` are sums over the beats of a window. To get the readout, divide them
    by the number of beats. A block that wasn't requested has width 0, because a traced network can't return
    None.
    """

    rhythm: Tensor
    patch: Tensor
    mean: Tensor
    max: Tensor
    std: Tensor
    leads: Tensor
    log_std: Tensor
    modulation: Tensor
    beat: Tensor
    qrs: Tensor
    p: Tensor
    st: Tensor
    t: Tensor
    heights: Tensor

    @classmethod
    def of(cls, patch_BTD: Tensor, blocks: Mapping[str, Tensor]) -> "Features":
        """Build the output from H̄ and some blocks. All other blocks are empty."""
        nothing = {name: patch_BTD.new_zeros(patch_BTD.shape[0], 0) for name in cls._fields}
        return cls(**{**nothing, **blocks, "patch": patch_BTD})

    @property
    def blocks(self) -> dict[str, Tensor]:
        """All blocks by name."""
        return {name: x for name, x in self._asdict().items() if name != "patch"}

    @property
    def wide(self) -> Tensor:
        """Wide readout [B, W]."""
        parts = (self.rhythm, self.mean, self.max, self.std, self.leads, self.log_std, self.modulation)
        return torch.cat([x_BV for x_BV in parts if x_BV.shape[1]], 1)


def wide_blocks(
    rhythm_BD: Tensor,
    h_BTCD: Tensor,
    log_std_BC: Tensor,
    real_BT: Tensor,
    absent_BC: Tensor | None = None,
) -> dict[str, Tensor]:
    """Return the blocks of the wide readout without the modulation spectrum, by name.

    - `rhythm`: h_rhythm.
    - `mean`, `max`, `std`: statistics of H̄ over time.
    - `leads`: each lead's mean of H.
    - `log_std`: logarithm of each lead's standard deviation in mV, by which RevIN divided.

    Patches are ignored if `real_BT` is False. An absent lead has no standard deviation, so its `log_std` is
    the mean over the present leads. Its mean of H is what the encoder infers from the present leads.
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
        present_BC = (~absent_BC).to(log_std_BC.dtype)
        count_B1 = present_BC.sum(1, keepdim=True).clamp(min=1)
        mean_B1 = (log_std_BC * present_BC).sum(1, keepdim=True) / count_B1
        log_std_BC = torch.where(absent_BC, mean_B1, log_std_BC)
    return {
        "rhythm": rhythm_BD,
        "mean": mean_BD,
        "max": max_BD,
        "std": std_BD,
        "leads": lead_BCD.flatten(1),
        "log_std": log_std_BC,
    }


def beat_blocks(h_BTCD: Tensor, beats_BJT: Tensor) -> dict[str, Tensor]:
    """Return the sums over beats: H̄ for each patch of the beat, and each lead's H for the QRS patch.

    Args:
        h_BTCD: the encoder's output H.
        beats_BJT: for each part j of a beat (`BEAT`) and each patch t, the number of beats whose part j is
            patch t.
    """
    beats_BJT = beats_BJT.to(h_BTCD.dtype)
    beat_BJD = beats_BJT @ lead_mean(h_BTCD)
    qrs_BCD = torch.einsum("bt,btcd->bcd", beats_BJT[:, QRS], h_BTCD)
    return {"beat": beat_BJD.flatten(1), "qrs": qrs_BCD.flatten(1)}


def part_blocks(h_BTCD: Tensor, mv_BTCP: Tensor, beats_BJT: Tensor) -> dict[str, Tensor]:
    """Return the sums over beats: each lead's H for P, ST and T, and the heights of all parts in mV.

    Args:
        h_BTCD: the encoder's output H.
        mv_BTCP: patches in mV, centred on each lead's mean.
        beats_BJT: for each part j of a beat (`BEAT`) and each patch t, the number of beats whose part j is
            patch t.
    """
    beats_BJT = beats_BJT.to(h_BTCD.dtype)
    lead_BJCD = torch.einsum("bjt,btcd->bjcd", beats_BJT[:, list(OTHERS.values())], h_BTCD)
    height_BTCH = torch.stack([mv_BTCP.amax(-1), mv_BTCP.amin(-1), mv_BTCP.mean(-1)], -1)
    height_BJCH = torch.einsum("bjt,btch->bjch", beats_BJT, height_BTCH.to(h_BTCD.dtype))
    parts = {name: lead_BJCD[:, number].flatten(1) for number, name in enumerate(OTHERS)}
    return {**parts, "heights": height_BJCH.flatten(1)}


class JoinedWindows:
    """Readout of a recording, joined from the readouts of its windows.

    If a recording has no beats, means over all patches replace the means over beats, and heights are zero.

    Args:
        blocks: blocks of the readout.
    """

    def __init__(self, blocks: list[Block]) -> None:
        self._blocks = blocks
        self._sums: dict[str, NDArray[np.float64]] = {}
        self._windows, self._beats = 0, 0.0
        self._measured: list[NDArray[np.float32]] = []

    def add(
        self,
        of_window: Mapping[str, NDArray[np.float32]],
        beats: float,
        measured_F: NDArray[np.float32] | None,
    ) -> None:
        """Add a window: its blocks, its number of beats, and its measurements if it has any."""
        for block in self._blocks:
            if block.joined != "measured":
                value = of_window[block.name].astype(np.float64)
                self._sums[block.name] = value + self._sums.get(block.name, 0.0)
        self._windows += 1
        self._beats += beats
        self._measured += [] if measured_F is None else [measured_F]

    def vector(self) -> NDArray[np.float32]:
        """Concatenate the joined blocks, [V]."""
        values: dict[str, NDArray[np.floating]] = {}
        for block in self._blocks:
            if block.joined == "measured":
                values[block.name] = np.mean(self._measured, axis=0)
            elif block.joined == "windows":
                values[block.name] = self._sums[block.name] / self._windows
            elif self._beats:
                values[block.name] = self._sums[block.name] / self._beats
            elif block.name == "beat":
                values[block.name] = np.tile(values["mean"], len(BEAT))
            elif block.name == "heights":
                values[block.name] = np.zeros(block.width)
            else:
                values[block.name] = values["leads"]
        joined_V: NDArray[np.floating] = np.concatenate(list(values.values()))
        return joined_V.astype(np.float32)
