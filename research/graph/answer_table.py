"""Print the first table of docs/graph.md, from the scores of the experiments.

python -m research.graph.answer_table
"""

import numpy as np
import pandas as pd
from research.graph.coarse import tables as coarse
from research.graph.prior.tables import GRAPHS, HOSPITALS, SCORES, Scores, estimate
from research.graph.step_table import FOLDER, units
from scipy import stats

from marecg.evaluate.table import published
from marecg_research.graph.differences import over

SIGMA = 0.5
TWELVE = [f"ptbxl-{task}" for task in ("super", "sub", "form", "rhythm")]


def span(mean: float, reach: float, digits: int = 1) -> str:
    """Format a mean with the ends of its interval, which is mean ± `reach`."""
    return f"{signed(mean, digits)} ({signed(mean - reach, digits)} to {signed(mean + reach, digits)})"


def signed(value: float, digits: int = 1) -> str:
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else text.replace("-", "−")


def units_gain(arm: str, other: str) -> "pd.Series[float]":
    """Return the difference of two arms of the paper's step, by unit."""
    by_unit = units().groupby("unit").mean()
    return by_unit[arm] - by_unit[other]


def kept() -> pd.DataFrame:
    scores = pd.read_parquet(FOLDER / "scores.parquet").astype({"value": "float64", "sigma": "float64"})
    return scores.assign(**{name: scores[name].astype(str) for name in ("regime", "arm", "endpoint")})


def families() -> "pd.Series[str]":
    return pd.read_csv(FOLDER / "leaves.csv").set_index("of")["family"]


def of_published() -> float:
    """Return the gain that the paper reports for its step from C2′ to C2, averaged over tasks and shares."""
    scores = published()
    scores = scores[scores["task"].isin(TWELVE)].pivot_table("macro_auc", ["task", "fraction"], "method")
    return float((scores["MAR-ECG (C2)"] - scores["MAR-ECG (C2')"]).mean())


def clustered(gain: "pd.Series[float]") -> tuple[float, float]:
    """Return the mean over draws and findings, and half the width of its interval (two-way clusters)."""
    rest, count = gain - gain.mean(), len(gain)
    parts = [rest.groupby(level).sum() for level in ("seed", "endpoint")]
    variance = sum((part**2).sum() * len(part) / (len(part) - 1) for part in parts)
    variance = (variance - (rest**2).sum() * count / (count - 1)) / count**2
    fewest = min(map(len, parts))
    return float(gain.mean()), float(stats.t.ppf(0.975, fewest - 1) * np.sqrt(variance))


def few_records() -> pd.DataFrame:
    """Return the AUC of each arm by draw and finding, averaged over k = 1, 2 and 5 labelled records."""
    scores = kept()
    scores = scores[
        scores["regime"].isin(["k = 1", "k = 2", "k = 5"]) & scores["endpoint"].str.startswith("leaf")
    ]
    by_k = scores.pivot_table("value", ["seed", "endpoint", "regime"], "arm")
    return by_k.groupby(["seed", "endpoint"]).mean()


def by_family(gain: "pd.Series[float]") -> "pd.Series[float]":
    """Return the gain of each family, averaged over its findings."""
    of_finding = gain.groupby("endpoint").mean()
    return of_finding.groupby(lambda name: families()[name.removeprefix("leaf ")]).mean()


def prior_row() -> tuple[str, str, str]:
    """Return the row on adding the score of a finding's family to the score of a plain classifier."""
    with np.load(SCORES) as file:
        scores = {name: Scores.of(dict(file), "marecg-small", name) for name in HOSPITALS}
    parts = [
        f"{span(*estimate(of.gain()))} over {len(of.findings)} findings {where}"
        for of, where in zip(scores.values(), ("on PTB-XL", "in other hospitals"), strict=True)
        if of is not None
    ]
    question = (
        "If a finding has 1 to 5 labelled ECGs, does the score of its *family* help a plain classifier?"
    )
    abnormal = scores["ptbxl"].gain(GRAPHS.index("abnormal")) if scores["ptbxl"] else np.zeros(0)
    gain = signed(abnormal.mean())
    verdict = f"yes on PTB-XL, but a score of *any abnormal finding* gives {gain}"
    return question, ", ".join(parts), verdict


def coarse_rows() -> list[tuple[str, str, str]]:
    """Return the rows on codes that name only a family, and on families as answers."""
    scores = {where: coarse.Scores("marecg-small", name) for name, where in HOSPITALS.items()}
    parts, shares = [], []
    for of, where in zip(scores.values(), ("on PTB-XL", "in other hospitals"), strict=True):
        gain = estimate(of.mean(coarse.REAL) - of.mean(coarse.EXACT))
        parts.append(f"{span(*gain)} over {len(of.findings)} findings {where}")
        recognised = of.answers[:, 2] / of.answers[:, 0]
        shares.append(
            f"{100 * recognised[0]:.1f} % of families recognised {where}, "
            f"{100 * recognised[1:].mean():.1f} % with wrong families"
        )
    best = 100 * (scores["PTB-XL"].answers[1:, 2] / scores["PTB-XL"].answers[1:, 0]).max()
    return [
        (
            "If most ECGs have only the code of a *family*, do these ECGs help a classifier of findings?",
            ", ".join(parts),
            "not shown; codes of wrong families gain as much",
        ),
        (
            "Are families good answers if the finding is uncertain?",
            "; ".join(shares),
            f"yes on PTB-XL, where the best of 99 wrong graphs has {best:.1f} %",
        ),
    ]


def table() -> str:
    """Return the table."""
    step, as_paper, edges, no_edges = (
        span(*over(units_gain(arm, other)), digits=2)
        for arm, other in (("real", "c2p"), ("paper", "c2p"), ("real", "edgeless"), ("edgeless", "c2p"))
    )
    few = few_records()
    real, labels = few["real"] - few["edgeless"], few["labels"] - few["real"]
    of_few = by_family(real)
    scores = kept()
    turn = scores[(scores["regime"] == "in turn") & scores["endpoint"].str.startswith("leaf")]
    turn = turn.pivot_table("value", "endpoint", "arm")
    untaught = turn["inference only"] - turn["edgeless"]
    of_turn = by_family(untaught)
    every = scores[(scores["regime"] == "all") & (scores["base"] == 0)]

    def real_minus(endpoint: str, arm: str) -> "pd.Series[float]":
        of = every[every["endpoint"] == endpoint]
        own = of[(of["arm"] == "real") & (of["sigma"] == SIGMA)].set_index("seed")["value"]
        rest = of[of["arm"].str.startswith(arm) & (of["sigma"].isna() | (of["sigma"] == SIGMA))]
        return own - rest.groupby("seed")["value"].mean()

    wrong = [signed(real_minus(name, "shuffle").mean()) for name in ("not rhythm", "rhythm")]
    ranked, by_labels = over(real_minus("families", "edgeless")), over(-real_minus("families", "labels"))
    few_families = f"ischaemia {signed(of_few['Ischemic'])}, rhythm {signed(of_few['Rhythm'])}"
    turn_families = ", ".join(
        f"{word} {signed(of_turn[name])}"
        for word, name in (("conduction", "Conduction"), ("ischaemia", "Ischemic"), ("rhythm", "Rhythm"))
    )
    rows = [
        ("question", "difference in points of AUC (95 %)", "answer"),
        ("---", "---", "---"),
        prior_row(),
        (
            "Does the paper's step from C2′ (without the graph's loss) to C2 (with it) "
            "make a better encoder?",
            f"{step} over twelve short trainings; with the paper's settings of the loss {as_paper}",
            f"yes, a little; the paper's own table has {signed(of_published(), 2)}",
        ),
        (
            "Does this step need the graph's edges?",
            f"{edges}, compared with a graph without edges, in the same trainings",
            f"yes, for a part of the gain; codes without edges give {no_edges}",
        ),
        (
            "Does a classifier trained with the graph need fewer labels (1 to 5 records of a finding)?",
            f"{span(*clustered(real))} over 20 findings, compared with no graph; {few_families}",
            f"not shown; training on plain labels is better by {span(*clustered(labels))}",
        ),
        (
            "Can a finding without any code be scored by its family?",
            f"{span(*over(untaught))} over 25 findings, compared with no graph; {turn_families}",
            "in two families, which were chosen on these findings",
        ),
        (
            "Is a wrong graph as good?",
            f"real minus wrong graph: {wrong[0]} outside rhythm, {wrong[1]} in rhythm",
            "outside rhythm, the real graph is better",
        ),
        (
            "Are *families* ranked better with the graph?",
            f"{span(*ranked)}, compared with no graph; a plain classifier of the family gains another "
            f"{span(*by_labels)}",
            "yes, but a plain classifier of the family is better",
        ),
        *coarse_rows(),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    print(table())
