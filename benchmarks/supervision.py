"""Measure the computation of labels and soft targets, relative to a loop that follows the formula.

Shapes: B records, N concepts.
"""

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import ecg_ontology
from benchmarks.ratio import Effort, Reach, Row, speedups
from ecg_ontology import CodedRecords, Ontology

RECORDS = 40_721


def from_ids(effort: Effort) -> list[float]:
    """Return the speed relative to the loop, for codes that are already numbered, as in a prepared corpus."""
    return _targets(effort, factorised=True)


def from_strings(effort: Effort) -> list[float]:
    """Return the speed relative to the loop, for lists of codes."""
    return _targets(effort, factorised=False)


def one_by_one(ontology: Ontology, records: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Compute the soft targets record by record, as in the paper's formulas."""
    t_BN = np.zeros((len(records), len(ontology)))
    for t_N, codes in zip(t_BN, records, strict=True):
        active = sorted({leaf for code in codes for leaf in ontology.route(code).leaves})
        if active:
            mass_N = np.exp(-ontology.distances[active[-1]].astype(float))
            mass_N[active] = np.maximum(1.0, mass_N[active])
            t_N[:] = mass_N / mass_N.sum()
    return t_BN


def _targets(effort: Effort, *, factorised: bool) -> list[float]:
    ontology = ecg_ontology.load()
    draw = random.Random(0)  # noqa: S311 — not used for secrets
    codes = list(ontology.official)
    lists = [draw.choices(codes, k=draw.choice((2, 3))) for _ in range(effort.of(RECORDS))]
    records = CodedRecords.of(lists) if factorised else lists

    def ours() -> NDArray[np.float64]:
        return ontology.soft_targets(ontology.leaf_multi_hot(records))

    def loop() -> NDArray[np.float64]:
        return one_by_one(ontology, lists)

    np.testing.assert_allclose(ours(), loop())
    return speedups(ours, loop, effort)


LOOP = "loop over the records"
ROWS = (
    Row(
        "targets-from-ids",
        "labels and soft targets from numbered codes, speed",
        LOOP,
        Reach("≥", 20),
        "",
        from_ids,
    ),
    Row(
        "targets-from-strings",
        "labels and soft targets from codes as text, speed",
        LOOP,
        Reach("≥", 12),
        "",
        from_strings,
    ),
)
