"""Tables of the experiments in `few_records`: left-out leaves, and leaves with k records."""

from collections.abc import Iterator, Sequence

import pandas as pd

from marecg_experiments.graph.arms import (
    EDGELESS,
    FAMILIES,
    INFERENCE_ONLY,
    LABELS,
    LABELS_INFERENCE,
    REAL,
    SPREAD,
)
from marecg_experiments.graph.differences import difference, over, with_means
from marecg_experiments.graph.endpoints import FEW_K, IN_TURN, LEAF, PRIMARY, WITHIN, units

TURN_SIGMA, KEPT_SIGMA = 1.0, 0.5
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
KEPT_PAIRS = (
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


def further_sections(kept: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of both tables, as far as they have rows."""
    turned = kept[kept["regime"] == IN_TURN]
    if len(turned):
        yield from _in_turn(turned)
    by_count = {int(name[len(FEW_K) :]): name for name in kept["regime"].unique() if name.startswith(FEW_K)}
    if by_count:
        yield from _kept({k: kept[kept["regime"] == by_count[k]] for k in sorted(by_count)})


def by_leaf(kept: pd.DataFrame, prefix: str, sigma: float) -> pd.DataFrame:
    """Return each leaf's mean over bases and seeds: a row per leaf, a column per arm."""
    names = [name for name in kept["endpoint"].unique() if str(name).startswith(prefix)]
    tables = {str(name)[len(prefix) :].strip(): units(kept, name, sigma).mean() for name in names}
    return with_means(pd.DataFrame(tables).T)


def _pairs(table: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [pair for pair in pairs if set(pair) <= set(table)]


def _in_turn(kept: pd.DataFrame) -> Iterator[str]:
    outside = by_leaf(kept, LEAF, TURN_SIGMA)
    inside = by_leaf(kept, WITHIN, TURN_SIGMA).reindex(outside.index)  # a leaf may be its family's only one
    yield f"### in turn: {len(outside)} leaves, each left out alone, σ {TURN_SIGMA:g}\n"
    yield "| | AUC | AUC within the family |\n| --- | ---: | ---: |"
    for arm in (name for name in SHOWN if name in outside):
        yield f"| {arm} | {outside[arm].mean():.1f} | {inside[arm].mean():.1f} |"
    yield "\n| difference | points | ± over leaves | within the family | ± |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for arm, other in _pairs(outside, TURN_PAIRS):
        (mean, reach), (inner, own_reach) = (over((t[arm] - t[other]).dropna()) for t in (outside, inside))
        yield f"| {arm} − {other} | {mean:+.2f} | {reach:.2f} | {inner:+.2f} | {own_reach:.2f} |"
    yield "\n| leaf | real | edgeless | inference only | within: real | edgeless |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for leaf in outside.index:
        three = " | ".join(f"{outside.loc[leaf, arm]:.1f}" for arm in (REAL, EDGELESS, INFERENCE_ONLY))
        two = " | ".join(f"{inside.loc[leaf, arm]:.1f}" for arm in (REAL, EDGELESS))
        yield f"| {leaf} | {three} | {two} |"
    yield ""


def _kept(parts: dict[int, pd.DataFrame]) -> Iterator[str]:
    tables = {count: with_means(units(part, PRIMARY, KEPT_SIGMA)) for count, part in parts.items()}
    draws = len(next(iter(tables.values())).index.unique("seed"))
    yield f"### k records of a leaf, codes cross-fitted: {draws} draws, σ {KEPT_SIGMA:g}\n"
    arms = [arm for arm in SHOWN if all(arm in table for table in tables.values())]
    yield f"| k | {' | '.join(arms)} |\n| --- |{' ---: |' * len(arms)}"
    for count, table in tables.items():
        yield f"| {count} | {' | '.join(f'{table[arm].mean():.1f}' for arm in arms)} |"
    few = [count for count in PRIMARY_K if count in tables]
    if few:
        mean = sum((tables[count] for count in few[1:]), tables[few[0]]) / len(few)
        leaves = by_leaf(pd.concat([parts[count] for count in few]), LEAF, KEPT_SIGMA)
        counts = ", ".join(map(str, few))
        yield f"\n| mean of k = {counts} | points | ± over draws | by {len(leaves)} leaves | ± over leaves |"
        yield "| --- | ---: | ---: | ---: | ---: |"
        for arm, other in _pairs(mean, KEPT_PAIRS):
            of, (inner, reach) = difference(mean, arm, other), over((leaves[arm] - leaves[other]).dropna())
            yield f"| {arm} − {other} | {of.mean:+.2f} | {of.reach:.2f} | {inner:+.2f} | {reach:.2f} |"
    yield ""
