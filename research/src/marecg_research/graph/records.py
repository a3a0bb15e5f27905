"""Design and records of the experiment: teaching, held-out and test records.

Shapes: M records, F features, N concepts, S statements, Q queries, R records of a part, W wide readout.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ecg_records.readers.datasets import ptbxl
from marecg.base.progress import Progress, shown
from marecg.corpus import index
from marecg.corpus.prepared import Corpus
from marecg.errors import CorpusError, UsageError
from marecg.evaluate.methods.features import extract
from marecg.evaluate.methods.frozen_encoder import encoder
from marecg.evaluate.scores.summary import WIDE
from marecg.evaluate.tasks.task import Recordings
from marecg.model.config import ModelConfig
from marecg.model.mar_ecg import MarEcg
from marecg.model.readout import wide_columns
from marecg.settings import Settings, chosen
from marecg_research.graph.arms import EDGELESS, LABELS, NONE, REAL, SHUFFLE


class Design(Settings):
    """Design of the experiment, changed by `--set key=value`; research/graph/plan.md has the reasons."""

    test_source: str = chosen("ptbxl", "its codes test and never teach")
    shuffles: int = chosen(20, "p can't fall below 1 / 21", ge=1)
    sigmas: tuple[float, ...] = chosen((0.25, 0.5, 1.0), "of the soft targets; 1 is the paper's")
    steps: tuple[int, ...] = chosen((100,), "of the heads: when all is scored")
    seeds: int = chosen(10, "draws and first weights of heads per base, with all codes", ge=0)
    regime_seeds: int = chosen(10, "the same with few or coarse codes, and with leaves left out", ge=0)
    floor_shuffles: int = chosen(160, "p of eight endpoints under Holm can't fall below 8 / 161", ge=0)
    floor_seeds: int = chosen(0, "seeds, with all codes, that train so many shuffles; 3 takes minutes", ge=0)
    turn_seeds: int = chosen(0, "seeds that leave every leaf out in turn; 5 take minutes", ge=0)
    kept_draws: int = chosen(0, "draws of leaves that keep k records, PTB-XL's codes cross-fitted", ge=0)
    kept_records: tuple[int, ...] = chosen((0, 1, 2, 5, 10, 20, 50), "k")
    random_families: int = chosen(4, "controls of the hierarchical cross-entropy", ge=0)
    branch_steps: int = chosen(0, "of the encoder, from each base by each arm; 0 trains heads alone", ge=0)
    branch_sigma: float = chosen(0.5, "where heads have learnt most of what their targets hold", gt=0)
    branch_arms: tuple[str, ...] = chosen(
        (NONE, REAL, EDGELESS, f"{SHUFFLE} 0", LABELS, "flat", f"{SHUFFLE} 1", f"{SHUFFLE} 2"),
        "the most telling first: each is trained on all bases before the next",
    )


Regime = Literal["all", "few", "coarse", "left-out"]
READ = ("mean", "max", "std", "log_std", "modulation")
"""Of the wide readout: h_rhythm's pool is untrained in C1, and single leads are many."""
HELD_OUT = 6
"""One in so many teaching records is held out."""
KEPT_ONE_IN = 10
"""One in so many keeps its codes where they are few."""
NEIGHBOURS, EVERY = 10, 9
DISCOUNT = 1 / np.log2(np.arange(2, NEIGHBOURS + 2))
FEWEST = 100
"""Coded records, below which nothing is compared."""


@dataclass(frozen=True)
class Taught:
    """Supervision of records: their leaves, or a leaf of which only the family is told (else −1)."""

    row_M: NDArray[np.int64]
    y_MN: NDArray[np.uint8]
    coarse_M: NDArray[np.int64]


@dataclass(frozen=True)
class Split:
    """Split of a corpus into rows that teach, held-out rows and test rows."""

    corpus: Corpus
    test_source: str
    teach: NDArray[np.int64]
    held_out: NDArray[np.int64]
    test: NDArray[np.int64]

    @classmethod
    def of(cls, corpus: Corpus, test_source: str, synthetic: Sequence[str] = ("synth",)) -> "Split":
        """Split a corpus: `test_source` tests; records with a leaf, of other and real sources, teach."""
        coded_M, test_M = corpus.primary >= 0, corpus.sources.among([test_source])
        if not test_M.any():
            sources = ", ".join(sorted(corpus.sources.counts()))
            raise UsageError(f"the corpus has no record of {test_source}", remedy=f"It has {sources}")
        teaching = np.flatnonzero(coded_M & ~test_M & ~corpus.sources.among(synthetic))
        names = [f"{corpus.sources[row]}/{corpus.ids[row]}" for row in teaching]
        held_M = np.array([_number(name) % HELD_OUT == 0 for name in names], bool)
        if (~held_M).sum() < FEWEST or not held_M.any():
            raise CorpusError(
                f"has {len(teaching)} coded records outside {test_source}, too few to hold some out",
                where=corpus.folder,
                remedy="Prepare more records that carry codes",
            )
        return cls(corpus, test_source, teaching[~held_M], teaching[held_M], np.flatnonzero(coded_M & test_M))

    def taught(self, rows: NDArray[np.int64], regime: Regime, seed: int, left_out: Sequence[int]) -> Taught:
        """Return the supervision of rows under a regime, drawn by the seed alone.

        The regimes: all codes, a tenth of the records, half of the records by their leaf's family alone, or
        all without some leaves.
        """
        y_MN, drawn_M = self.corpus.y[rows].copy(), np.random.default_rng(seed).random(len(rows))
        coarse_M = np.full(len(y_MN), -1, np.int64)
        if regime == "coarse":
            coarse_M = np.where(drawn_M < 0.5, self.corpus.primary[rows], -1)
            y_MN[coarse_M >= 0] = 0
        elif regime == "left-out":
            y_MN[:, list(left_out)] = 0
        keep_M = y_MN.any(1) | (coarse_M >= 0)
        if regime == "few":
            keep_M &= drawn_M.argsort().argsort() < len(drawn_M) // KEPT_ONE_IN
        return Taught(np.flatnonzero(keep_M), y_MN[keep_M], coarse_M[keep_M])

    def wide(
        self,
        model: MarEcg,
        parts: Sequence[NDArray[np.int64]],
        folder: Path,
        samples: int | None = None,
        progress: Progress = shown,
    ) -> list[NDArray[np.float32]]:
        """Return the wide readout of each part's rows, float32 [M, W] per part, cached on disk."""
        rows = np.concatenate(parts)
        stop_R = np.minimum(self.corpus.n_valid[rows], samples or self.corpus.config.window)
        where = f"{self.corpus.folder.name} {rows.tolist()}" + (f" {samples}" if samples else "")
        recordings = Recordings(
            name="graph",
            ids=tuple(f"{self.corpus.sources[row]}/{self.corpus.ids[row]}" for row in rows),
            sha256=hashlib.sha256(where.encode()).hexdigest(),
            window="as in the corpus",
            read=lambda at: self.corpus.signals([rows[at]])[0, :, : stop_R[at]],
        )
        x_RW = extract(recordings, [encoder(model)], folder, progress)[WIDE].x_RF
        return np.split(x_RW, np.cumsum([len(part) for part in parts[:-1]]))

    def features(self, model: MarEcg, folder: Path, progress: Progress = shown) -> list[NDArray[np.float32]]:
        """Return the features of the three parts, standardised on the teaching records."""
        parts = [
            read_off(x_MW, model.config)
            for x_MW in self.wide(model, [self.teach, self.held_out, self.test], folder, progress=progress)
        ]
        mean_F, std_F = parts[0].mean(0), parts[0].std(0)
        return [(x_MF - mean_F) / (std_F + 1e-6) for x_MF in parts]


def read_off(x_MW: NDArray[np.float32], config: ModelConfig) -> NDArray[np.float32]:
    """Return the columns of the wide readout that all arms read, [M, F]."""
    columns = wide_columns(config)
    return np.concatenate([x_MW[:, columns[part]] for part in READ if part in columns], 1)


@dataclass(frozen=True)
class Hierarchy:
    """PTB-XL's classes of statements, by which mistakes and neighbours are judged.

    `apart_MN` (uint8) is from a test record's nearest statement to a concept: 0 the same, 1 the same
    subclass, 2 the same superclass, 3 neither. `gain_QM` is what a record is worth as a neighbour of a query,
    every ninth one: 3, 2 or 1 for a diagnostic statement, subclass or superclass in common; `ideal_Q` what
    the best neighbours are.
    """

    apart_MN: NDArray[np.uint8]
    gain_QM: NDArray[np.int64]
    ideal_Q: NDArray[np.float64]

    @classmethod
    def of(cls, split: Split, root: Path) -> "Hierarchy":
        """Read the test records' statements. Raises `CorpusError` without PTB-XL's table of them."""
        onto = split.corpus.ontology()
        statements = list(ptbxl.statements(root).values())
        codes = index.of(split.corpus.folder, ["codes"])["codes"].take(split.test)
        number = {f"scp:{one.name}": place for place, one in enumerate(statements)}
        has_MS = np.zeros((len(split.test), len(statements)), bool)
        for row, record_codes in enumerate(codes.to_pylist()):
            has_MS[row, [number[code] for code in record_codes if code in number]] = True
        above = [
            (one.name, one.subclass or one.name, one.superclass or ("rhythm" if one.rhythm else "form"))
            for one in statements
        ]
        levels = [np.array([[a[level] == b[level] for b in above] for a in above]) for level in range(3)]
        names_NS = np.zeros((len(onto), len(statements)), bool)
        for place, one in enumerate(statements):
            names_NS[list(onto.route(f"scp:{one.name}").leaves), place] = True
        apart_MN = np.full((len(has_MS), len(onto)), 3, np.uint8)
        for steps in (2, 1, 0):
            apart_MN[(has_MS @ levels[steps] @ names_NS.T)] = steps
        diagnostic = np.array([one.diagnostic for one in statements])
        shared = [((has_MS & diagnostic) @ level).astype(np.float32) for level in levels]
        gain_QM = np.sum([has_MS[::EVERY] @ has_MS.T > 0 for has_MS in shared], axis=0)
        query_Q = np.arange(len(gain_QM))
        gain_QM[query_Q, query_Q * EVERY] = 0
        return cls(apart_MN, gain_QM, -np.sort(-gain_QM, axis=1)[:, :NEIGHBOURS] @ DISCOUNT)


def _number(name: str) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)
