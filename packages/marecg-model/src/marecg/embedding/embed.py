"""Compute embeddings of signals of any sampling rate, any length and any set of leads.

Shapes: B records, K leads of the signals, L samples, T patches, D width, W values of the wide readout,
C leads of the encoder, J patches of a beat, V values of any readout, F measured values.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, overload

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from ecg_base import suggest
from ecg_records.signal.leads import LEADS, is_lead, lead_name, lead_places
from ecg_records.signal.samples import COMPUTABLE_MV, amplitude_doubt
from marecg.base.device import best_device, named_device
from marecg.embedding.beat_windows import readout_windows
from marecg.errors import CheckpointError, UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.model.names import FOLDERS
from marecg.model.readout import QRS, JoinedWindows, Readout, blocks, wide_columns
from marecg.model.windows import Recording, arranged, overlapped, stacked

logger = logging.getLogger(__name__)

PASS_WINDOWS = 32
"""Default number of windows per forward pass. With the paper's encoder, they fill a GPU and take 1 GB."""
MOST_WINDOWS = 1 << 20
"""Upper limit of windows per forward pass. More windows don't fit into memory."""


def _shapes(arrays: dict[str, NDArray[np.float32]]) -> str:
    """Return an HTML table with the names and shapes of arrays, for notebooks."""
    from pandas import DataFrame  # noqa: PLC0415 (only a notebook shows tables)

    rows = [(name, " × ".join(map(str, x.shape)), str(x.dtype)) for name, x in arrays.items()]
    html: str = DataFrame(rows, columns=["array", "shape", "type"]).to_html(index=False)
    return html


class Embeddings(NamedTuple):
    """Embeddings of B records, float32.

    Attributes:
        rhythm: [B, D], a vector per record (h_rhythm in the paper).
        patch: [B, T, D], a vector per patch (H̄ in the paper). Patch i begins at sample i · stride.

    Example:
        >>> Embeddings(np.zeros((2, 64), np.float32), np.zeros((2, 139, 64), np.float32)).rhythm.shape
        (2, 64)
    """

    rhythm: NDArray[np.float32]
    patch: NDArray[np.float32]

    def _repr_html_(self) -> str:
        return _shapes(self._asdict())


class WideEmbeddings(NamedTuple):
    """Embeddings of B records with a readout, float32. `encode` yields them without the axis B.

    Attributes:
        rhythm: [B, D], as in `Embeddings`.
        patch: [B, T, D], as in `Embeddings`.
        wide: [B, V], the requested readout, a longer vector of features per record. The first D values are
            h_rhythm. `marecg.model.readout.blocks` lists its parts in order.

    Example:
        >>> h_BD, h_BTD = np.zeros((2, 64), np.float32), np.zeros((2, 139, 64), np.float32)
        >>> WideEmbeddings(h_BD, h_BTD, np.zeros((2, 300), np.float32)).wide.shape
        (2, 300)
    """

    rhythm: NDArray[np.float32]
    patch: NDArray[np.float32]
    wide: NDArray[np.float32]

    def _repr_html_(self) -> str:
        return _shapes(self._asdict())


@overload
def embed(
    model: MarEcg | str | Path,
    signals: ArrayLike,
    *,
    fs: float,
    leads: Sequence[str] = LEADS,
    batch_size: int = PASS_WINDOWS,
    readout: Literal["rhythm"] = "rhythm",
    device: str | torch.device | None = None,
) -> Embeddings: ...


@overload
def embed(
    model: MarEcg | str | Path,
    signals: ArrayLike,
    *,
    fs: float,
    leads: Sequence[str] = LEADS,
    batch_size: int = PASS_WINDOWS,
    readout: Literal["wide", "beats", "full"],
    device: str | torch.device | None = None,
) -> WideEmbeddings: ...


@np.errstate(under="ignore")  # a tiny number may become 0, also if numpy.seterr is set to raise
def embed(
    model: MarEcg | str | Path,
    signals: ArrayLike,
    *,
    fs: float | None = None,
    leads: Sequence[str] = LEADS,
    batch_size: int = PASS_WINDOWS,
    readout: Readout = "rhythm",
    device: str | torch.device | None = None,
) -> Embeddings | WideEmbeddings:
    """Compute embeddings of records with a frozen model.

    A record that is longer than the encoder's context is read in windows, which are evenly spread over the
    record. Each window is read `ModelConfig.phases` times, shifted by a fraction of the patch stride each
    time. Record embeddings and the wide readout are means over all windows. A patch embedding is the mean
    over the windows that contain the patch. `beats` adds means over all beats or, if a record has no
    beats, over all patches. For `full`, see `marecg.model.readout`.

    A shorter record is padded, and the padding is hidden from the encoder. Missing leads are hidden as well.

    Logs a warning if the amplitude is implausible for an ECG in mV, or if a record is flat.

    Args:
        model: Model, which is set to eval mode and otherwise not changed. Or a name of a model or run to
            load, in any form accepted by `MarEcg.from_pretrained`.
        signals: Array [B, K, L] in mV. Or a data frame with a column per lead, or a list of data frames, one
            for each record.
        fs: Sampling rate in Hz. Required.
        leads: Names of the K leads, in any order; case doesn't matter. By default, the columns of a data
            frame, or the twelve standard leads.
        batch_size: Number of windows per forward pass.
        readout: Features to return in addition to the record embedding, for example for a linear probe.
            `wide` has features of each lead and its amplitude. `beats` adds features averaged over all beats.
            `full` adds features of P, ST and T in each lead, and measurements such as intervals.
        device: Device on which the model runs, for example `cuda`. If None, a model stays on its device, and
            a loaded model uses a GPU if PyTorch finds a GPU.

    Returns:
        `Embeddings`, or `WideEmbeddings` if a readout is requested.

    Raises:
        UsageError: If the readout or device is unknown, the array has the wrong shape or no records, a lead
            is unknown or named twice, the sampling rate is missing or invalid, a value is masked, not finite
            or too large, or a record is shorter than a patch.
        CheckpointError: If the model can't be loaded, or its output isn't finite.

    Example:
        >>> import marecg
        >>> model = marecg.MarEcg(marecg.recipes.tiny().model)
        >>> x_BKL = np.random.default_rng(0).normal(size=(1, 2, 2500))
        >>> marecg.embed(model, x_BKL, fs=250, leads=["I", "II"]).rhythm.shape
        (1, 64)
    """
    check_readout(readout)
    model = loaded(model, device)
    if leads is LEADS:
        leads = lead_columns(signals) or LEADS
    x_BKL = records(signals, leads)
    first_BKL = x_BKL[:PASS_WINDOWS]
    # To judge the amplitude of n records, every n-th sample is enough.
    thinned_BKL = first_BKL[..., :: len(first_BKL)]
    doubt = amplitude_doubt(np.concatenate(thinned_BKL, axis=1)) if x_BKL.size else None
    if doubt:
        logger.warning("signals: %s", doubt)
    recordings = (arranged(x_KL, fs, leads, model.config) for x_KL in x_BKL)
    rhythms, patches, wides = zip(*encode(model, recordings, batch_size, readout=readout), strict=True)
    if readout != "rhythm":
        return WideEmbeddings(np.stack(rhythms), np.stack(patches), np.stack(wides))
    return Embeddings(np.stack(rhythms), np.stack(patches))


def encode(
    model: MarEcg,
    recordings: Iterable[Recording],
    batch_size: int = PASS_WINDOWS,
    *,
    readout: Readout = "wide",
    patches: bool = True,
) -> Iterator[WideEmbeddings]:
    """Yield the embeddings of recordings in order. A batch can contain windows of several recordings.

    Only a single batch and the patch embeddings of the current recording are in memory at a time.

    Args:
        model: Model.
        recordings: Recordings of any length and with any leads.
        batch_size: Number of windows per forward pass.
        readout: Readout to return as `wide`.
        patches: Whether to return patch embeddings (H̄). If False, `patch` is empty.

    Raises:
        UsageError: If the batch size isn't a positive whole number.
        CheckpointError: If the model's output isn't finite.
    """
    if not isinstance(batch_size, Integral) or not 1 <= batch_size <= MOST_WINDOWS:
        raise UsageError(f"batch_size must be a whole number from 1 to {MOST_WINDOWS}, got {batch_size!r}")
    model.eval()
    config, device = model.config, model.prototypes.device
    dtype = next(model.parameters()).dtype  # a model may have been cast by half() or double()
    beats, full = readout in ("beats", "full"), readout == "full"
    found, columns = blocks(config, readout), wide_columns(config, readout)
    windows = readout_windows(recordings, config, readout)
    joined, starts, parts = JoinedWindows(found), list[int](), list[NDArray[np.float32]]()
    while batch := list(islice(windows, batch_size)):
        with torch.no_grad():
            x_BCL, *arguments = stacked([item.window for item in batch], config, device)
            if beats:
                arguments.append(torch.from_numpy(np.stack([item.beats_JT for item in batch])).to(device))
            features = model.of_windows(x_BCL.to(dtype), *arguments, every_part=full)
        block_BV = {name: x.float().cpu().numpy() for name, x in features.blocks.items()}
        patch_BTD = features.patch.float().cpu().numpy()
        if not all(np.isfinite(x).all() for x in (patch_BTD, *block_BV.values())):
            problem = "the model returns NaN or infinite values for finite signals"
            raise CheckpointError(problem, remedy="Use a model whose training did not diverge")
        for number, (window, beats_JT, measured_F) in enumerate(batch):
            of_window = {name: x[number] for name, x in block_BV.items()}
            joined.add(of_window, float(beats_JT[QRS].sum()), measured_F)
            if patches and window.start % config.stride == 0:  # H̄ needs windows on the patch grid
                starts.append(window.start)
                parts.append(patch_BTD[number])
            if window.last:
                patch_TD = np.zeros((0, config.width), np.float32)
                if patches:
                    patch_TD = overlapped(starts, parts, config)[: config.patches(window.length)]
                vector = joined.vector()
                yield WideEmbeddings(vector[columns["rhythm"]], patch_TD, vector)
                joined, starts, parts = JoinedWindows(found), [], []


def loaded(model: MarEcg | str | Path, device: str | torch.device | None = None) -> MarEcg:
    """Return a model on a device. Load the model if a name is given.

    If `device` is None, a loaded model uses a GPU if PyTorch finds a GPU, and any other model isn't moved.
    """
    if isinstance(model, str | Path):
        return MarEcg.from_pretrained(model, device=best_device() if device is None else device)
    encoder = getattr(model, "model", None)
    if isinstance(encoder, MarEcg):  # `model` is a Classifier
        model = encoder
    return model if device is None else model.to(named_device(device))


def check_readout(readout: str) -> None:
    """Raise `UsageError` if the name of a readout is unknown."""
    if readout not in get_args(Readout):
        raise UsageError(f"unknown readout {readout!r}", remedy=suggest(readout, get_args(Readout)))


def lead_columns(signals: Any) -> list[str]:
    """Return the column names of a data frame, or of the first data frame in a list.

    The result is empty if `signals` aren't data frames, or if no column is a lead.
    """
    first = signals[0] if isinstance(signals, list | tuple) and signals else signals
    columns = list(getattr(first, "columns", ()))
    return columns if any(is_lead(str(name)) for name in columns) else []


def unframed(signals: Any, leads: Sequence[str]) -> Any:
    """Convert data frames with a column per lead to nested lists [B, K, L]. Return other signals unchanged.

    Raises `UsageError` if a data frame has no column for a lead.
    """
    if not lead_columns(signals):
        return signals
    x_BKL = []
    for frame in signals if isinstance(signals, list | tuple) else [signals]:
        column = {lead_name(str(name)): name for name in getattr(frame, "columns", ())}
        if missing := [lead for lead in leads if lead_name(lead) not in column]:
            problem = f"a data frame must have a column for each lead, got none for {', '.join(missing)}"
            raise UsageError(problem, remedy="Rename the columns, or set leads= to their names")
        x_BKL.append([np.asarray(frame[column[lead_name(lead)]]) for lead in leads])
    return x_BKL


def records(signals: ArrayLike, leads: Sequence[str]) -> NDArray[np.float32]:
    """Return signals as a float32 array [B, K, L].

    Logs a warning if a record is flat in all leads. Raises `UsageError` as `embed` does.
    """
    count = len(lead_places(leads))
    signals = unframed(signals, leads)
    if any(map(np.ma.is_masked, [signals, *(signals if isinstance(signals, list | tuple) else ())])):
        raise UsageError("signals must not have masked values", remedy="Fill them, or omit those records")
    if isinstance(signals, str | Path):
        reading = "Read a record with ecg_records.read, or embed a folder with `marecg embed`"
        remedy = "Give the model first: embed(model, signals)" if str(signals) in FOLDERS else reading
        raise UsageError("signals must be an array, got a name", where=signals, remedy=remedy)
    try:
        x = np.asarray(signals)
    except (ValueError, TypeError, RuntimeError) as error:
        remedy = "Embed records of different lengths in separate calls"
        if isinstance(signals, torch.Tensor):  # it has gradients, is on a GPU, or has a type unknown to NumPy
            remedy = "Give signals.detach().cpu().float(); the result has no gradients"
        raise UsageError(f"signals must be an array ({str(error).splitlines()[0]})", remedy=remedy) from error
    if x.dtype.kind not in "iuf":
        raise UsageError(f"signals must be real numbers, got {x.dtype}", remedy="Give millivolts as floats")
    if x.shape[:1] == (0,):
        raise UsageError("signals must have at least one record, got none")
    if x.ndim != 3 or x.shape[1] != count:
        remedy = "Set leads= to the leads of the array"
        if x.ndim == 3 and x.shape[2] == count:
            remedy = "The leads are the last axis: give signals.swapaxes(1, 2)"
        elif x.ndim == 2 and x.shape[0] == count:
            remedy = "For a single record, give signals[None]"
        raise UsageError(
            f"signals must be [records, {count} leads, samples], got shape {x.shape}", remedy=remedy
        )
    with np.errstate(over="ignore"):
        x_BKL = x.astype(np.float32, copy=False)
    largest_B = np.maximum(x_BKL.max(axis=(1, 2), initial=0), -x_BKL.min(axis=(1, 2), initial=0))
    broken = np.flatnonzero(~np.isfinite(largest_B))  # NaN stays NaN
    if len(broken):
        where = f"{len(broken)} of {len(x)} records, first in {broken[0]}"
        problem = f"signals must be finite, got NaN or infinite values in {where}"
        raise UsageError(problem, remedy="Repair or omit those records")
    if largest_B.max() > COMPUTABLE_MV:
        first = np.argmax(largest_B > COMPUTABLE_MV)
        problem = (
            f"signals must be at most {COMPUTABLE_MV:.1g} mV, got {largest_B.max():.1g} mV in record {first}"
        )
        raise UsageError(problem, remedy="Give millivolts, and remove artefacts")
    flat = np.flatnonzero((x_BKL[..., 1:] == x_BKL[..., :1]).all(axis=(1, 2)))
    if len(flat):
        logger.warning(
            "signals: %d of %d records are flat in every lead, first record %d", len(flat), len(x), flat[0]
        )
    return x_BKL
