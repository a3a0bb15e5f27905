"""Embeddings of signals of any sampling rate, length and set of leads, as named arrays.

Shapes: B records, K leads given, L samples, T patches, D width, W wide readout, C leads of the encoder,
J patches of a beat, V readout, F measured values.
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
from marecg.embedding.beat_windows import shown_windows
from marecg.errors import CheckpointError, UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.model.names import FOLDERS
from marecg.model.readout import QRS, JoinedWindows, Readout, blocks, wide_columns
from marecg.model.windows import Recording, arranged, overlapped, stacked

logger = logging.getLogger(__name__)

PASS_WINDOWS = 32
"""Windows per forward pass: enough to fill a GPU with the paper's encoder, in 1 GB."""
LARGEST = 1 << 20
"""Upper limit of windows per forward pass: more than any memory holds."""


def _shapes(arrays: dict[str, NDArray[np.float32]]) -> str:
    """Return an HTML table of the arrays' names and shapes, for notebooks."""
    from pandas import DataFrame  # noqa: PLC0415 (only a notebook shows tables)

    rows = [(name, " × ".join(map(str, x.shape)), str(x.dtype)) for name, x in arrays.items()]
    html: str = DataFrame(rows, columns=["array", "shape", "type"]).to_html(index=False)
    return html


class Embeddings(NamedTuple):
    """Embeddings of B records, float32.

    Attributes:
        rhythm: [B, D], a vector per record (h_rhythm in the paper).
        patch: [B, T, D], a vector per patch (H̄ in the paper). Patch i begins at sample i times the stride.

    Example:
        >>> Embeddings(np.zeros((2, 64), np.float32), np.zeros((2, 139, 64), np.float32)).rhythm.shape
        (2, 64)
    """

    rhythm: NDArray[np.float32]
    patch: NDArray[np.float32]

    def _repr_html_(self) -> str:
        return _shapes(self._asdict())


class WideEmbeddings(NamedTuple):
    """Embeddings with a readout [B, W], [B, V] or longer, whose first D values are h_rhythm.

    `wide` holds the wide readout, or the longer readout that was requested.
    `marecg.model.readout.blocks` names the parts of a readout in order. `encode` yields the embeddings of a
    single record: [D], [T, D] and [W].

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


@np.errstate(under="ignore")  # a tiny number may become 0, whatever numpy.seterr says
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
    """Embed records with a frozen model, in eval mode and without masking.

    A record longer than the encoder's context is read in windows of the context's length, evenly spread over
    the record. Each window is read from `ModelConfig.phases` beginnings. h_rhythm and the wide readout are
    means over these windows. H̄ is the mean of the windows that overlap.

    A shorter record is padded, and the padding is hidden from the encoder. Missing leads are hidden in the
    same way as masked tokens during training.

    The beat readout is the mean over the beats found in all windows. If a record has no beats, the mean over
    all of its patches takes its place.

    Logs a warning if the amplitude is implausible for an ECG in mV, or if a record is flat.

    Args:
        model: a model, which is set to eval mode and not changed otherwise; or a run or model to load, as for
            `MarEcg.from_pretrained`.
        signals: [B, K, L] in mV. Or a data frame of one record with a column per lead, or a list of such
            frames; their columns are the leads unless `leads` names some of them.
        fs: sampling rate in Hz, required.
        leads: names of the K leads, in any order and in upper or lower case.
        batch_size: windows per forward pass.
        readout: `wide` adds the wide readout, which holds more for a linear probe. `beats` appends the beat
            readout to it. `full` appends every part of the beats and the measured values.
        device: device to run on, such as `cuda`; a given model is moved to it. With None, a given model stays
            on its device, and a loaded model goes to a GPU if there is one.

    Returns:
        float32 vectors of each record; with the requested readout unless it is `rhythm`.

    Raises:
        UsageError: the readout or device is unknown, the array has the wrong shape or no records, a lead is
            unknown or named twice, the rate is missing or impossible, a value is masked, not finite or too
            large to compute with, or a record is shorter than a patch.
        CheckpointError: the model can't be loaded, or its output is not finite.

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
    some = x_BKL[:PASS_WINDOWS]  # thinned below, so that together they have as many samples as one record
    doubt = amplitude_doubt(np.concatenate(some[..., :: len(some)], axis=1)) if x_BKL.size else None
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
    """Yield the embeddings of recordings of any lengths and leads, whose windows share batches.

    Memory holds one batch, and H̄ of the recording at the end of the batch. H̄ is empty without `patches`.

    Raises:
        UsageError: the batch size isn't a positive whole number.
        CheckpointError: the model's output is not finite.
    """
    if not isinstance(batch_size, Integral) or not 1 <= batch_size <= LARGEST:
        raise UsageError(f"batch_size must be a whole number from 1 to {LARGEST}, got {batch_size!r}")
    model.eval()
    config, device = model.config, model.prototypes.device
    kind = next(model.parameters()).dtype  # a model may have been cast: half(), double()
    beats, full = readout in ("beats", "full"), readout == "full"
    found, columns = blocks(config, readout), wide_columns(config, readout)
    shown = shown_windows(recordings, config, readout)
    joined, starts, parts = JoinedWindows(found), list[int](), list[NDArray[np.float32]]()
    while batch := list(islice(shown, batch_size)):
        with torch.no_grad():
            x_BCL, *others = stacked([item.window for item in batch], config, device)
            if beats:
                others.append(torch.from_numpy(np.stack([item.beats_JT for item in batch])).to(device))
            features = model.of_windows(x_BCL.to(kind), *others, every_part=full)
        block_BV = {name: x.float().cpu().numpy() for name, x in features.blocks.items()}
        patch_BTD = features.patch.float().cpu().numpy()
        if not all(np.isfinite(x).all() for x in (patch_BTD, *block_BV.values())):
            problem = "the model returns NaN or infinite values for finite signals"
            raise CheckpointError(problem, remedy="Use a model whose training did not diverge")
        for number, (window, beats_JT, measured_F) in enumerate(batch):
            of_window = {name: x[number] for name, x in block_BV.items()}
            joined.add(of_window, float(beats_JT[QRS].sum()), measured_F)
            if patches and window.start % config.stride == 0:  # H̄ is built from windows that begin at a patch
                starts.append(window.start)
                parts.append(patch_BTD[number])
            if window.last:
                whole_TD = np.zeros((0, config.width), np.float32)
                if patches:
                    whole_TD = overlapped(starts, parts, config)[: config.patches(window.length)]
                vector = joined.vector()
                yield WideEmbeddings(vector[columns["rhythm"]], whole_TD, vector)
                joined, starts, parts = JoinedWindows(found), [], []


def loaded(model: MarEcg | str | Path, device: str | torch.device | None = None) -> MarEcg:
    """Return a model on `device`. A model loaded by name goes to the best device by default."""
    if isinstance(model, str | Path):
        return MarEcg.from_pretrained(model, device=best_device() if device is None else device)
    within = getattr(model, "model", None)
    if isinstance(within, MarEcg):  # a Classifier: its encoder
        model = within
    return model if device is None else model.to(named_device(device))


def check_readout(readout: str) -> None:
    """Check the name of a readout. Raises `UsageError` if it is unknown."""
    if readout not in get_args(Readout):
        raise UsageError(f"unknown readout {readout!r}", remedy=suggest(readout, get_args(Readout)))


def lead_columns(signals: Any) -> list[str]:
    """Return the columns of a data frame, or of the first of several, if a column is a lead; otherwise []."""
    first = signals[0] if isinstance(signals, list | tuple) and signals else signals
    columns = list(getattr(first, "columns", ()))
    return columns if any(is_lead(str(name)) for name in columns) else []


def unframed(signals: Any, leads: Sequence[str]) -> Any:
    """Return the array [B, K, L] of data frames with a column per lead. Other signals are returned unchanged.

    Raises `UsageError` if a frame lacks a lead.
    """
    if not lead_columns(signals):
        return signals
    x_BKL = []
    for frame in signals if isinstance(signals, list | tuple) else [signals]:
        column = {lead_name(str(name)): name for name in getattr(frame, "columns", ())}
        if missing := [lead for lead in leads if lead_name(lead) not in column]:
            problem = f"a data frame must have a column for each lead, got none for {', '.join(missing)}"
            raise UsageError(problem, remedy="Rename the columns, or give their names as leads=")
        x_BKL.append([np.asarray(frame[column[lead_name(lead)]]) for lead in leads])
    return x_BKL


def records(signals: ArrayLike, leads: Sequence[str]) -> NDArray[np.float32]:
    """Return the array [B, K, L] in float32. Logs a warning if a record is flat in all leads.

    Raises `UsageError` as `embed` does.
    """
    places = lead_places(leads)
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
    count = len(places)
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
