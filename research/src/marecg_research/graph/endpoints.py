"""Compute the endpoints of the experiment from scores of single leaves. All tables are made from endpoints.

A row of the frame has a regime, base, seed, arm and σ, the name of the endpoint, and its value in points. The
endpoint of a single leaf is, for example, `leaf LBBB`. A leaf is a finding of the graph. A base is an
encoder. An arm is a training with a certain graph, and σ is the width of its soft targets. A regime defines
which codes of the training records are used.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from marecg_research.graph.arms import EDGELESS, REAL, SHUFFLE

SIGMA = 0.5
"""σ of the results that don't use the σ chosen on held-out records."""
PRIMARY, WITHIN, FAMILY, RESAMPLED, LEAF = "primary", "within families", "families", "resampled", "leaf "
CLOSED, CHOOSING, READY = "closed", "choosing", "ready"
LEFT_OUT = ("1AVB", "LBBB", "AntMI", "STD", "PVC", "RBBB")
"""Leaves whose labels are removed in the regime `left-out`, and on which it is tested."""
IN_TURN, FEW_K = "in turn", "k = "
"""Regimes of `few_records`: the labels of one leaf are removed, or some leaves have k records."""
SECONDARY = (
    "all leaves", "0–5 records", "6–40 records", "more records", "rhythm", "not rhythm", FAMILY,
    "severity", "nDCG@10",
)  # fmt: skip
"""Endpoints whose p-values are corrected together by Holm's method."""
LOWER_IS_BETTER = "severity"
UNIT = ["regime", "base", "seed", "arm", "sigma"]


def at_mark(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the rows at the best step of each regime.

    At the best step, training has removed most of the loss on held-out records (metric `closed`), averaged
    over bases, seeds and arms.

    A regime without scores on held-out records has a single step. Scores that don't belong to a step have the
    number of the last step.
    """
    closed = scores[scores["metric"] == CLOSED].groupby(["regime", "step"])["value"].mean()
    marks = {regime: shares.idxmax()[1] for regime, shares in closed.groupby("regime")}
    return scores[scores["step"] == scores["regime"].map(marks).fillna(scores["step"])]


def leaves_of(regime: str, leaves: pd.DataFrame) -> list[str]:
    """Return the leaves of a regime's primary endpoint: the rare leaves, or the left-out leaves."""
    tested = leaves[leaves["tested"]]
    chosen = tested["of"].isin(LEFT_OUT) if regime == "left-out" else tested["rare"]
    return [str(leaf) for leaf in tested.loc[chosen, "of"]]


def groups(leaves: pd.DataFrame) -> dict[str, list[str]]:
    """Return the tested leaves of each endpoint that is a mean over a group of leaves."""
    tested = leaves[leaves["tested"]]
    rhythm, count = tested["family"].eq("Rhythm"), tested["teaching"]
    chosen = {
        "all leaves": count >= 0,
        "0–5 records": count <= 5,
        "6–40 records": count.between(6, 40),
        "more records": count > 40,
        "rhythm": rhythm,
        "not rhythm": ~rhythm,
    }
    return {name: tested.loc[group, "of"].tolist() for name, group in chosen.items()}


def endpoints(scores: pd.DataFrame, leaves: pd.DataFrame) -> pd.DataFrame:
    """Return the sorted rows of all endpoints. Values are rounded to a thousandth of a point."""
    ready = scores[scores["metric"] == READY]
    scores = at_mark(scores[scores["metric"] != READY])
    parts = [ready.assign(endpoint=ready["of"])]
    parts += [
        part.assign(endpoint=name)
        for regime, rows in scores.groupby("regime", sort=False)
        for name, part in _parts(rows, leaves_of(str(regime), leaves), groups(leaves))
    ]
    frame = pd.concat(parts)[[*UNIT, "endpoint", "value"]].astype({"value": "float64", "seed": "int16"})
    frame["value"] = frame["value"].round(3).astype("float32")
    return frame.sort_values(["regime", "endpoint", "arm", "sigma", "base", "seed"], ignore_index=True)


def _parts(
    rows: pd.DataFrame, columns: Sequence[str], group: dict[str, list[str]]
) -> Iterator[tuple[str, pd.DataFrame]]:
    def mean(metric: str, of: Sequence[str] | None = None) -> pd.DataFrame:
        chosen = rows[rows["metric"] == metric]
        chosen = chosen if of is None else chosen[chosen["of"].isin(of)]
        return chosen.groupby(UNIT, dropna=False, sort=False)["value"].mean().reset_index()

    yield PRIMARY, mean("auc", columns)
    for name, of in group.items():
        yield name, mean("auc", of)
    for name, metric in ((FAMILY, "family"), (WITHIN, "within"), (CHOOSING, CHOOSING)):
        yield name, mean(metric)
    for metric in ("severity", "nDCG@10", CLOSED):
        yield metric, mean(metric)
    single = rows[rows["metric"].eq("auc")]
    for leaf, part in single[single["of"].isin(group["all leaves"])].groupby("of"):
        yield f"{LEAF}{leaf}", part
    inside = rows[rows["metric"].eq("within") & ~rows["arm"].str.startswith(f"{SHUFFLE} ")]
    for leaf, part in inside.groupby("of"):
        yield f"{WITHIN} {leaf}", part
    drawn = rows[rows["metric"].eq("resampled") & rows["sigma"].fillna(SIGMA).eq(SIGMA)]
    wide = drawn.pivot_table("value", "of", "arm")
    if {REAL, EDGELESS} <= set(wide):
        values, bases = wide[REAL] - wide[EDGELESS], rows["base"].unique()
        row = {"regime": rows["regime"].iloc[0], "arm": f"{REAL} − {EDGELESS}", "sigma": SIGMA}
        row["base"] = bases[0] if len(bases) == 1 else -1
        yield RESAMPLED, pd.DataFrame({**row, "seed": values.index.astype(int), "value": values.to_numpy()})


def units(frame: pd.DataFrame, endpoint: str, sigma: float | dict[str, float] = SIGMA) -> pd.DataFrame:
    """Return the values of an endpoint, at a common σ or at a σ for each arm.

    The table has a row per unit (base and seed) and a column per arm.
    """
    rows = frame[frame["endpoint"] == endpoint]
    sigmas = rows["arm"].map(sigma) if isinstance(sigma, dict) else sigma
    rows = rows[rows["sigma"].isna() | np.isclose(rows["sigma"].fillna(0), sigmas)]
    table: pd.DataFrame = rows.astype({"value": "float64"}).pivot_table("value", ["base", "seed"], "arm")
    return table


def chosen_sigmas(frame: pd.DataFrame) -> dict[str, float]:
    """Return for each graph the σ with the best AUC on held-out records, averaged over bases and seeds."""
    rows = frame[frame["endpoint"].eq(CHOOSING) & frame["sigma"].notna()]
    means = rows.groupby(["arm", "sigma"])["value"].mean()
    return {str(arm): float(of_arm.idxmax()[1]) for arm, of_arm in means.groupby("arm")}
