"""Write the tables of the experiments in `few_records`: left-out leaves, and leaves with k records.

A leaf is a finding of the concept graph.
"""

from collections.abc import Iterator, Sequence

import pandas as pd

from marecg.base.markdown import table as markdown_table
from marecg_research.graph.arms import (
    EDGELESS,
    FAMILIES,
    INFERENCE_ONLY,
    LABELS,
    LABELS_INFERENCE,
    REAL,
    SPREAD,
)
from marecg_research.graph.differences import difference, over, signed, with_means
from marecg_research.graph.endpoints import FEW_K, IN_TURN, LEAF, PRIMARY, WITHIN, units

TURN_SIGMA, FEW_SIGMA = 1.0, 0.5
SHOWN = (
    REAL, "shuffles", "flat", FAMILIES, SPREAD, EDGELESS, INFERENCE_ONLY, LABELS, LABELS_INFERENCE
)  # fmt: skip
TURN_PAIRS = (
    (REAL, INFERENCE_ONLY),
    (REAL, EDGELESS),
    (INFERENCE_ONLY, EDGELESS),
    (LABELS_INFERENCE, INFERENCE_ONLY),
    (FAMILIES, EDGELESS),
)
FEW_PAIRS = (
    (REAL, EDGELESS),
    (REAL, "shuffles"),
    (REAL, SPREAD),
    ("flat", EDGELESS),
    (FAMILIES, EDGELESS),
    (SPREAD, EDGELESS),
    (INFERENCE_ONLY, EDGELESS),
    (LABELS, EDGELESS),
)
PRIMARY_K = (1, 2, 5)


def further_sections(frame: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of both tables. An experiment without rows has no table."""
    turned = frame[frame["regime"] == IN_TURN]
    if len(turned):
        yield from _in_turn(turned)
    by_count = {int(name[len(FEW_K) :]): name for name in frame["regime"].unique() if name.startswith(FEW_K)}
    if by_count:
        yield from _few_records({k: frame[frame["regime"] == by_count[k]] for k in sorted(by_count)})


def by_leaf(frame: pd.DataFrame, prefix: str, sigma: float) -> pd.DataFrame:
    """Return the means over bases and seeds, with a row per leaf and a column per arm."""
    names = [name for name in frame["endpoint"].unique() if str(name).startswith(prefix)]
    tables = {str(name)[len(prefix) :].strip(): units(frame, name, sigma).mean() for name in names}
    return with_means(pd.DataFrame(tables).T)


def _pairs(table: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [pair for pair in pairs if set(pair) <= set(table)]


def _in_turn(frame: pd.DataFrame) -> Iterator[str]:
    outside = by_leaf(frame, LEAF, TURN_SIGMA)
    # The only leaf of a family has no AUC within the family.
    inside = by_leaf(frame, WITHIN, TURN_SIGMA).reindex(outside.index)
    yield f"### in turn: {len(outside)} leaves, each left out alone, σ {TURN_SIGMA:g}\n"
    yield from markdown_table(
        ["", "AUC", "AUC within the family"],
        [[arm, *(f"{t[arm].mean():.1f}" for t in (outside, inside))] for arm in SHOWN if arm in outside],
    )
    yield ""
    rows = []
    for arm, other in _pairs(outside, TURN_PAIRS):
        out, inner = (signed(*over((t[arm] - t[other]).dropna())) for t in (outside, inside))
        rows.append([f"{arm} − {other}", *out, *inner])
    yield from markdown_table(["difference", "points", "± over leaves", "within the family", "±"], rows)
    yield ""
    three, two = (REAL, EDGELESS, INFERENCE_ONLY), (REAL, EDGELESS)
    columns = [*((outside, arm) for arm in three), *((inside, arm) for arm in two)]
    yield from markdown_table(
        ["leaf", "real", "edgeless", "inference only", "within: real", "edgeless"],
        [[leaf, *(f"{t.loc[leaf, arm]:.1f}" for t, arm in columns)] for leaf in outside.index],
    )
    yield ""


def _few_records(parts: dict[int, pd.DataFrame]) -> Iterator[str]:
    tables = {count: with_means(units(part, PRIMARY, FEW_SIGMA)) for count, part in parts.items()}
    draws = len(next(iter(tables.values())).index.unique("seed"))
    yield f"### k records of a leaf, codes cross-fitted: {draws} draws, σ {FEW_SIGMA:g}\n"
    arms = [arm for arm in SHOWN if all(arm in table for table in tables.values())]
    yield from markdown_table(
        ["k", *arms], [[count, *(f"{t[arm].mean():.1f}" for arm in arms)] for count, t in tables.items()]
    )
    few = [count for count in PRIMARY_K if count in tables]
    if few:
        mean = sum((tables[count] for count in few[1:]), tables[few[0]]) / len(few)
        leaves = by_leaf(pd.concat([parts[count] for count in few]), LEAF, FEW_SIGMA)
        counts = ", ".join(map(str, few))
        rows = []
        for arm, other in _pairs(mean, FEW_PAIRS):
            of, of_leaves = difference(mean, arm, other), over((leaves[arm] - leaves[other]).dropna())
            rows.append([f"{arm} − {other}", *signed(of.mean, of.reach), *signed(*of_leaves)])
        heads = [f"mean of k = {counts}", "points", "± over draws", f"by {len(leaves)} leaves"]
        yield ""
        yield from markdown_table([*heads, "± over leaves"], rows)
    yield ""
