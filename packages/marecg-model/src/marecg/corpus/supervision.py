"""Supervision of the records of a corpus: labels, soft targets, rhythm statistics and phases of patches.

A patch is a short part of the signal, which the encoder reads as a unit. The phase of a patch is its position
in the beat, such as ST. Rhythm statistics and phases are computed once from the R-peaks, which takes 6 µs per
record. They are stored in the corpus:

supervision/KEY.npy          rhythm, a row of `RHYTHM` per record; written last, so it marks complete files
supervision/KEY-phase.npy    phases, int8 [M, T], read through a memory map

KEY is a hash of the corpus, the patches and the thresholds. If the corpus is read-only, each process computes
rhythm statistics and phases in memory.

Shapes: M records of the corpus, B records of a batch, N concepts, R families (roots), T patches.
"""

import hashlib
import json
import logging
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecg_base import refuse_pipe, replacing
from ecg_ontology import Ontology
from ecg_records.storage.lock import locked
from marecg.corpus.prepared import Corpus, read_about, refuse_cut
from marecg.corpus.sampling import families, labels
from marecg.errors import CorpusError, OutputError
from marecg.model.batch import SoftTargets, Supervision
from marecg.model.config import ModelConfig
from marecg.model.physiology import Rate, RhythmThresholds, physiology

logger = logging.getLogger(__name__)

FOLDER = "supervision"
"""Folder in a corpus with stored supervision."""
VERSION = 1
"""Version of the results of `physiology`. Stored results of other versions aren't used."""
BLOCK_ROWS = 1 << 16
"""Number of records whose beats are processed at a time."""
SMALLEST_STD = 1e-6
"""Number that is added to a standard deviation to avoid division by zero."""
RHYTHM = np.dtype([("mean_rr", "<f4"), ("rr_cv", "<f4"), ("rate", "i1"), ("alternates", "i1")])


class CorpusSupervision:
    """Supervision of the records of a corpus.

    Args:
        corpus: Prepared corpus.
        ontology: Ontology of the soft targets, training targets with a share for each concept.
        model: Settings of the encoder, which determine the patches (short parts of the signal).
        soft: Settings of the soft targets.
        limits: Thresholds for rhythm statistics and for phases (positions of the patches in the beat).
        without_codes: Sources whose codes are ignored; see `labels`.
        codes_permuted: Seed for permuted codes; see `labels`.
        standardised: Whether mean RR and RR-CV (standard deviation of the RR intervals divided by their mean)
            are z-scores over the corpus.
    """

    def __init__(
        self,
        corpus: Corpus,
        ontology: Ontology,
        model: ModelConfig,
        soft: SoftTargets | None = None,
        limits: RhythmThresholds | None = None,
        *,
        without_codes: Collection[str] = (),
        codes_permuted: int | None = None,
        standardised: bool = False,
    ) -> None:
        self._corpus, self._ontology, self._soft = corpus, ontology, soft or SoftTargets()
        self._y_MN = labels(corpus, without_codes, codes_permuted)
        self._family_MR = families(corpus, ontology, without_codes, codes_permuted)
        self._rhythm_M, self._phase_MT = _read_or_made(corpus, model, limits or RhythmThresholds())
        read_M = self._rhythm_M["rate"] != Rate.NONE
        names = ("mean_rr", "rr_cv") if standardised and read_M.any() else ()
        of_rhythm = {name: self._rhythm_M[name][read_M] for name in names}
        self._scale = {name: (value_M.mean(), value_M.std()) for name, value_M in of_rhythm.items()}

    def __len__(self) -> int:
        return len(self._y_MN)

    def rows(self, rows_B: Tensor) -> Supervision:
        """Return the supervision of selected records. Raises `CorpusError` if a file was truncated."""
        rows = rows_B.numpy()
        refuse_cut(self._phase_MT)
        y_BN, rhythm_B = self._y_MN[rows], self._rhythm_M[rows]
        target_BN = self._ontology.soft_targets(y_BN, sigma=self._soft.sigma, rule=self._soft.rule)
        root_BN = np.zeros(y_BN.shape, bool)
        root_BN[:, list(self._ontology.roots)] = self._family_MR[rows]
        return Supervision(
            torch.from_numpy(y_BN.astype(bool)),
            torch.from_numpy(target_BN.astype(np.float32)),
            torch.from_numpy(self._corpus.rpeaks.padded(rows)),
            torch.from_numpy(self._scaled("mean_rr", rhythm_B)),
            torch.from_numpy(self._scaled("rr_cv", rhythm_B)),
            torch.from_numpy(rhythm_B["rate"].astype(np.int64)),
            torch.from_numpy(rhythm_B["alternates"].astype(np.float32)),
            torch.from_numpy(np.asarray(self._phase_MT[rows])),
            torch.from_numpy(root_BN),
        )

    def whole(self) -> Supervision:
        """Return the supervision of all records. Use this only for a small corpus."""
        return self.rows(torch.arange(len(self)))

    def _scaled(self, name: str, rhythm_B: NDArray[Any]) -> NDArray[np.float32]:
        value_B: NDArray[np.float32] = rhythm_B[name].copy()  # torch can't read a stride of ten bytes
        if name in self._scale:
            mean, std = self._scale[name]
            value_B = (value_B - mean) / (std + SMALLEST_STD)
        return value_B


def _read_or_made(
    corpus: Corpus, model: ModelConfig, limits: RhythmThresholds
) -> tuple[NDArray[Any], NDArray[np.int8]]:
    """Read rhythm and phases from the corpus, or compute and store them.

    Returns:
        A row of `RHYTHM` per record, and phases int8 [M, T].
    """
    patches = (model.fs, model.patch, model.stride, model.context)
    depends_on = [VERSION, read_about(corpus.folder), patches, limits.model_dump(mode="json")]
    key = hashlib.sha256(json.dumps(depends_on, sort_keys=True).encode()).hexdigest()[:16]
    folder = corpus.folder / FOLDER
    rhythm, phase = folder / f"{key}.npy", folder / f"{key}-phase.npy"
    with locked(corpus.folder):
        if (cached := _read(rhythm, phase, len(corpus), model)) is not None:
            return cached
        logger.info("computing rhythm and phases of %d records", len(corpus))
        try:
            with replacing(phase, private=True) as temporary:
                shape = (len(corpus), model.context_patches)
                numpy: Any = np.lib.format  # it has no types
                phase_MT = numpy.open_memmap(temporary, "w+", np.int8, shape)
                if hasattr(os, "posix_fallocate"):  # on a full disk, writing to a map kills the process
                    with temporary.open("r+b") as file:
                        os.posix_fallocate(file.fileno(), 0, temporary.stat().st_size)
                rhythm_M = _make(corpus, model, limits, phase_MT)
                phase_MT.flush()
            with replacing(rhythm, private=True) as temporary, temporary.open("wb") as file:
                np.save(file, rhythm_M, allow_pickle=False)
        except OutputError as error:
            logger.info("rhythm and phases can't be stored: %s", error)
            phase_MT = np.empty((len(corpus), model.context_patches), np.int8)
            return _make(corpus, model, limits, phase_MT), phase_MT
        return _read(rhythm, phase, len(corpus), model) or (rhythm_M, phase_MT)


def _make(
    corpus: Corpus, model: ModelConfig, limits: RhythmThresholds, phase_MT: NDArray[np.int8]
) -> NDArray[Any]:
    rhythm_M = np.empty(len(corpus), RHYTHM)
    for first in range(0, len(corpus), BLOCK_ROWS):
        rows = slice(first, min(first + BLOCK_ROWS, len(corpus)))
        targets = physiology(corpus.rpeaks[rows], model, limits)
        phase_MT[rows] = targets.phase_MT
        for name in RHYTHM.names or ():
            rhythm_M[name][rows] = getattr(targets, f"{name}_M")
    return rhythm_M


def _read(
    rhythm: Path, phase: Path, records: int, model: ModelConfig
) -> tuple[NDArray[Any], NDArray[np.int8]] | None:
    """Read stored rhythm and phases, or return None if they are missing or incomplete.

    Raises `CorpusError` if a path isn't a regular file.
    """
    for path in (rhythm, phase):
        refuse_pipe(path, "Remove it", CorpusError)
    try:
        rhythm_M = np.load(rhythm, allow_pickle=False)
        phase_MT = np.load(phase, mmap_mode="r", allow_pickle=False)
    except (OSError, EOFError, ValueError):
        return None
    fits = rhythm_M.shape == (records,) and phase_MT.shape == (records, model.context_patches)
    return (rhythm_M, phase_MT) if fits and (rhythm_M.dtype, phase_MT.dtype) == (RHYTHM, np.int8) else None
