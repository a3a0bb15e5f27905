"""Define the design of the experiment, and its training, held-out and test records.

A leaf is a finding of the concept graph. A regime defines which labels of the training records may be used.

Shapes: M records, F features, N concepts, S statements, Q queries, R records of several parts, W wide
readout.
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
    """Design of the experiment, which is changed by `--set key=value`.

    research/graph/plan.md has the reasons for the defaults.
    """

    test_source: str = chosen("ptbxl", "source of the test records. Its codes aren't used for training")
    shuffles: int = chosen(20, "with 20 shuffles, p is at least 1 / 21", ge=1)
    sigmas: tuple[float, ...] = chosen((0.25, 0.5, 1.0), "σ of the soft targets. The paper has 1")
    steps: tuple[int, ...] = chosen((100,), "steps at which heads are scored")
    seeds: int = chosen(10, "seeds per base with all codes", ge=0)
    regime_seeds: int = chosen(10, "seeds per base with few or coarse codes, or left-out leaves", ge=0)
    floor_shuffles: int = chosen(160, "with Holm's correction of 8 endpoints, p is at least 8 / 161", ge=0)
    floor_seeds: int = chosen(0, "seeds for so many shuffles. 3 seeds take minutes", ge=0)
    turn_seeds: int = chosen(0, "seeds for leaving out each leaf in turn. 5 seeds take minutes", ge=0)
    kept_draws: int = chosen(0, "draws of leaves that are limited to k records", ge=0)
    kept_records: tuple[int, ...] = chosen((0, 1, 2, 5, 10, 20, 50), "values of k")
    random_families: int = chosen(4, "controls of the hierarchical cross-entropy", ge=0)
    branch_steps: int = chosen(0, "steps of the encoder for each base and arm. 0 trains only heads", ge=0)
    branch_sigma: float = chosen(0.5, "σ at which heads have learnt most of their targets", gt=0)
    branch_arms: tuple[str, ...] = chosen(
        (NONE, REAL, EDGELESS, f"{SHUFFLE} 0", LABELS, "flat", f"{SHUFFLE} 1", f"{SHUFFLE} 2"),
        "in order of importance. Each arm is trained on all bases before the next arm",
    )


Regime = Literal["all", "few", "coarse", "left-out"]
READ = ("mean", "max", "std", "log_std", "modulation")
"""Parts of the wide readout that are used as features.

h_rhythm, the pooled vector of a record, is left out because the recipe C1 doesn't train its pool. Single
leads are left out because they have many values.
"""
HELD_OUT = 6
"""One in `HELD_OUT` training records is held out."""
KEPT_ONE_IN = 10
"""In the regime `few`, one in `KEPT_ONE_IN` records keeps its codes."""
NEIGHBOURS, EVERY = 10, 9
DISCOUNT = 1 / np.log2(np.arange(2, NEIGHBOURS + 2))
FEWEST = 100
"""Minimum number of training records."""


@dataclass(frozen=True)
class Taught:
    """Labels of the records that heads are trained on, in a regime.

    Attributes:
        row_M: numbers of the records.
        y_MN: leaves of the records.
        coarse_M: a leaf of the known family, if only the family of a record may be used; otherwise −1.
    """

    row_M: NDArray[np.int64]
    y_MN: NDArray[np.uint8]
    coarse_M: NDArray[np.int64]


@dataclass(frozen=True)
class Split:
    """Split of a corpus into training rows (`teach`), held-out rows and test rows."""

    corpus: Corpus
    test_source: str
    teach: NDArray[np.int64]
    held_out: NDArray[np.int64]
    test: NDArray[np.int64]

    @classmethod
    def of(cls, corpus: Corpus, test_source: str, synthetic: Sequence[str] = ("synth",)) -> "Split":
        """Split a corpus. Only records with a leaf are used.

        Args:
            corpus: the corpus.
            test_source: source of the test records. Other sources are for training.
            synthetic: sources that aren't used.
        """
        coded_M, test_M = corpus.primary >= 0, corpus.sources.among([test_source])
        if not test_M.any():
            sources = ", ".join(sorted(corpus.sources.counts()))
            problem = f"the corpus must have records of {test_source}, got {sources}"
            raise UsageError(problem, remedy="Change --set test_source")
        teaching = np.flatnonzero(coded_M & ~test_M & ~corpus.sources.among(synthetic))
        names = [f"{corpus.sources[row]}/{corpus.ids[row]}" for row in teaching]
        held_M = np.array([_number(name) % HELD_OUT == 0 for name in names], bool)
        if (~held_M).sum() < FEWEST or not held_M.any():
            raise CorpusError(
                f"must have at least {FEWEST} coded training records, and further records to hold out, "
                f"got {len(teaching)} outside {test_source}",
                where=corpus.folder,
                remedy="Prepare more records with codes",
            )
        return cls(corpus, test_source, teaching[~held_M], teaching[held_M], np.flatnonzero(coded_M & test_M))

    def taught(self, rows: NDArray[np.int64], regime: Regime, seed: int, left_out: Sequence[int]) -> Taught:
        """Return the labels of rows that a regime allows. The draw depends only on the seed.

        Args:
            rows: rows of the corpus.
            regime: `all` for all codes, `few` for a tenth of the records, `coarse` for half of the records
                with only their family, or `left-out` for all codes except `left_out`.
            seed: seed of the draw.
            left_out: leaves whose labels are removed in the regime `left-out`.
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
        """Return the wide readout of each part's rows, float32 [M, W]. It is stored in `folder`.

        With `samples`, only so many samples of each record are read.
        """
        rows = np.concatenate(parts)
        stop_R = np.minimum(self.corpus.n_valid[rows], samples or self.corpus.config.window)
        where = f"{self.corpus.folder.name} {rows.tolist()}" + (f" {samples}" if samples else "")
        recordings = Recordings(
            name="graph",
            ids=tuple(f"{self.corpus.sources[row]}/{self.corpus.ids[row]}" for row in rows),
            sha256=hashlib.sha256(where.encode()).hexdigest(),
            window="as in the corpus",
            read=lambda number: self.corpus.signals([rows[number]])[0, :, : stop_R[number]],
        )
        x_RW = extract(recordings, [encoder(model)], folder, progress)[WIDE].x_RF
        return np.split(x_RW, np.cumsum([len(part) for part in parts[:-1]]))

    def features(self, model: MarEcg, folder: Path, progress: Progress = shown) -> list[NDArray[np.float32]]:
        """Return features of training, held-out and test records, standardised on the training records."""
        parts = [
            read_off(x_MW, model.config)
            for x_MW in self.wide(model, [self.teach, self.held_out, self.test], folder, progress=progress)
        ]
        mean_F, std_F = parts[0].mean(0), parts[0].std(0)
        return [(x_MF - mean_F) / (std_F + 1e-6) for x_MF in parts]


def read_off(x_MW: NDArray[np.float32], config: ModelConfig) -> NDArray[np.float32]:
    """Return the parts `READ` of the wide readout, [M, F]."""
    columns = wide_columns(config)
    return np.concatenate([x_MW[:, columns[part]] for part in READ if part in columns], 1)


@dataclass(frozen=True)
class Hierarchy:
    """PTB-XL's hierarchy of statements, by which mistakes and neighbours are evaluated.

    Attributes:
        apart_MN: uint8, distance between a concept and the nearest statement of a test record: 0 for the same
            statement, 1 for the same subclass, 2 for the same superclass, 3 for none of these.
        gain_QM: gain of a record as a neighbour of a query: 3, 2 or 1 if they have a diagnostic statement, a
            subclass or a superclass in common. Every ninth record is a query.
        ideal_Q: discounted gain of the best possible neighbours.
    """

    apart_MN: NDArray[np.uint8]
    gain_QM: NDArray[np.int64]
    ideal_Q: NDArray[np.float64]

    @classmethod
    def of(cls, split: Split, root: Path) -> "Hierarchy":
        """Read the statements of the test records. Raises `CorpusError` if PTB-XL's table is missing."""
        onto = split.corpus.ontology()
        statements = list(ptbxl.statements(root).values())
        codes = index.of(split.corpus.folder, ["codes"])["codes"].take(split.test)
        number = {f"scp:{statement.name}": column for column, statement in enumerate(statements)}
        has_MS = np.zeros((len(split.test), len(statements)), bool)
        for row, record_codes in enumerate(codes.to_pylist()):
            has_MS[row, [number[code] for code in record_codes if code in number]] = True
        ancestors = [
            (
                statement.name,
                statement.subclass or statement.name,
                statement.superclass or ("rhythm" if statement.rhythm else "form"),
            )
            for statement in statements
        ]
        levels = [
            np.array([[a[level] == b[level] for b in ancestors] for a in ancestors]) for level in range(3)
        ]
        names_NS = np.zeros((len(onto), len(statements)), bool)
        for column, statement in enumerate(statements):
            names_NS[list(onto.route(f"scp:{statement.name}").leaves), column] = True
        apart_MN = np.full((len(has_MS), len(onto)), 3, np.uint8)
        for steps in (2, 1, 0):
            apart_MN[(has_MS @ levels[steps] @ names_NS.T)] = steps
        diagnostic = np.array([statement.diagnostic for statement in statements])
        shared = [((has_MS & diagnostic) @ level).astype(np.float32) for level in levels]
        gain_QM = np.sum([has_MS[::EVERY] @ has_MS.T > 0 for has_MS in shared], axis=0)
        query_Q = np.arange(len(gain_QM))
        gain_QM[query_Q, query_Q * EVERY] = 0
        return cls(apart_MN, gain_QM, -np.sort(-gain_QM, axis=1)[:, :NEIGHBOURS] @ DISCOUNT)


def _number(name: str) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)
