"""Tidy frame of scores with a row per figure, published or measured.

`published.tsv` holds the rows of the paper's Table tab:linear_probe as printed. Measured figures come from
the reports in run folders.
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ecg_records.storage.documents import read_model
from marecg.errors import UsageError
from marecg.evaluate.scores.results import Report
from marecg.evaluate.scores.summary import ENCODER_METHODS
from marecg.nn.collapse import COLLAPSED

logger = logging.getLogger(__name__)

PUBLISHED = Path(__file__).with_name("published.tsv")
TITLES = {
    "ptbxl-super": "PTB-XL super",
    "ptbxl-sub": "PTB-XL sub",
    "ptbxl-form": "PTB-XL form",
    "ptbxl-rhythm": "PTB-XL rhythm",
    "cpsc2018": "CPSC2018",
}
"""Tasks of the table in the paper's order. Other tasks follow under their own names."""
PRINTED, MEASURED = "published", "measured"
KINDS = {
    **dict.fromkeys(("source", "group", "method", "task"), "str"),
    **dict.fromkeys(("fraction", "macro_auc", "sd", "low", "high"), "float64"),
    **{"test_records": "Int64", "task_sha256": "str", "leaked_records": "Int64"},
    **dict.fromkeys(("records", "seeds", "dimension"), "Int64"),
    **dict.fromkeys(("versus", "versus_low", "versus_high", "seconds", "h_rank"), "float64"),
    **dict.fromkeys(("auprc", "f_max"), "float64"),
}
"""Columns of the frame. Macro AUC, its spread over seeds and its interval are in percent.

source          `PRINTED` or `MEASURED`
group           the run; empty if several runs share the figure
task_sha256     figures with the same value can be compared
leaked_records  val and test records that the encoder was pretrained on; missing if unknown
records         training records of each of the `seeds` draws
dimension       number of features
versus          difference from the report's reference on the same test records, with its interval
h_rank          least effective rank of h_rhythm, for a run's own encoder
auprc           mean of the classes' average precisions in percent
f_max           `metrics.f_max` in percent
"""
VERSUS = ["versus", "versus_low", "versus_high"]
"""Columns that are only valid within a single report."""
ROW = ["source", "group", "method"]
"""Columns that identify a row of a printed table."""
FIGURES = ["macro_auc", "sd", "low", "high", "test_records", "task_sha256", "leaked_records"]
"""Columns in which two runs must agree to share a figure."""


def tidy(lines: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return a frame of scores from dictionaries. Absent fields become missing values."""
    scores = pd.DataFrame(list(lines), columns=list(KINDS))
    texts = [name for name, kind in KINDS.items() if kind == "str"]
    return scores.fillna(dict.fromkeys(texts, "")).astype(KINDS)


def published() -> pd.DataFrame:
    """Return the figures of the paper's table."""
    wide = pd.read_csv(PUBLISHED, sep="\t").set_index(["group", "method"])
    lines = []
    for (group, method), row in wide.iterrows():
        for column, auc in row.items():
            task, _, share = column.partition(" ")
            line = {"source": PRINTED, "group": group, "method": method, "task": task}
            lines.append({**line, "fraction": share, "macro_auc": auc})
    return tidy(lines)


def measured(runs: Iterable[str | Path], protocol: str = "strict") -> pd.DataFrame:
    """Return the figures of all runs from `RUN/probe/*-PROTOCOL.json`, without repetition.

    Logs a warning for a folder without such a report. Raises `UsageError` if no folder has a report.
    """
    reports = {run: sorted((run / "probe").glob(f"*-{protocol}.json")) for run in map(Path, runs)}
    unprobed = [run for run, paths in reports.items() if not paths]
    if unprobed and len(unprobed) == len(reports):
        problem = f"has no probe by protocol {protocol}"
        raise UsageError(problem, where=unprobed[0], remedy="Run `marecg probe` on it first")
    for run in unprobed:
        logger.warning("%s: skipped, it has no probe by protocol %s", run, protocol)
    return of_reports((run, read_report(path)) for run, paths in reports.items() for path in paths)


def of_reports(reports: Iterable[tuple[Path, Report]]) -> pd.DataFrame:
    """Return the figures of several runs' reports without repetition, baselines last.

    A run is named after its folder, or by the given path if two folders have the same name.
    """
    listed = list(reports)
    names = {run: run.resolve().name for run, _ in listed}
    counts = Counter(names.values())
    groups = {run: str(run) if counts[name] > 1 else name for run, name in names.items()}
    by_run = sorted(listed, key=lambda pair: list(names).index(pair[0]))
    return merged(tidy(line for run, report in by_run for line in lines(groups[run], report)))


def lines(group: str, report: Report) -> Iterable[dict[str, Any]]:
    """Yield a report's figures as dictionaries, one per row of the frame."""
    leaks = report.leak.records if report.leak else None
    for cell in report.cells:
        of_encoder = cell.method in ENCODER_METHODS
        versus = cell.versus_encoder
        points = [100 * value for value in (versus.mean, versus.low, versus.high)] if versus else None
        pretrained = of_encoder or cell.method == report.reference or report.protocol == "finetune"
        yield {
            "source": MEASURED,
            "group": group,
            "method": cell.method,
            "task": report.task,
            "fraction": cell.fraction,
            "macro_auc": 100 * cell.macro_auc.mean,
            "sd": _percent(cell.macro_auc.sd),
            "low": 100 * cell.interval.low,
            "high": 100 * cell.interval.high,
            "test_records": report.records.test,
            "task_sha256": report.task_sha256,
            "leaked_records": leaks if pretrained else 0,
            "records": cell.records if cell.fraction else None,
            "seeds": cell.seeds if cell.fraction else None,
            "dimension": cell.dimension,
            **(dict(zip(VERSUS, points, strict=True)) if points else {}),
            "seconds": cell.seconds,
            "h_rank": report.rank if of_encoder else None,
            "auprc": _percent(cell.macro_ap.mean if cell.macro_ap else None),
            "f_max": _percent(cell.f_max.mean if cell.f_max else None),
        }


def by_class(report: Report) -> pd.DataFrame:
    """Return AUC and average precision per class in percent, at each method's largest share."""
    largest = {cell.method: cell for cell in report.cells}  # the shares ascend
    figures = []
    for method, cell in largest.items():
        for score in cell.classes:
            line = {"method": method, "class": score.name, "positives": score.support}
            for name, spread in (("auc", score.auc), ("ap", score.ap)):
                line |= {name: 100 * spread.mean, f"{name}_sd": _percent(spread.sd)}
            figures.append(line)
    return pd.DataFrame(figures)


def as_dicts(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a dictionary per line, None for missing values."""
    return list(frame.astype(object).where(frame.notna(), None).to_dict("records"))


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def merged(scores: pd.DataFrame) -> pd.DataFrame:
    """Merge rows that are equal in several runs into one.

    Rows of an encoder or its prototypes belong to their run and are never merged.
    """
    rows: list[pd.DataFrame] = []
    scores = scores.assign(h_rank=scores.groupby(ROW)["h_rank"].transform("min"))
    for (source, _, method), figures in scores.groupby(ROW, sort=False):
        row = figures.set_index(["task", "fraction"], drop=False)
        shared = source == MEASURED and method not in ENCODER_METHODS
        twin = next((n for n, other in enumerate(rows) if shared and _alike(row, other)), None)
        if twin is None:
            rows.append(row)
        else:
            both = pd.concat([rows[twin], row]).assign(group="", **dict.fromkeys(VERSUS, float("nan")))
            rows[twin] = both[~both.index.duplicated()]
    ordered = sorted(rows, key=lambda row: not row["group"].iloc[0])
    return pd.concat([*ordered, scores.iloc[:0]], ignore_index=True)


def _alike(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    at = one.index.intersection(other.index)
    same_row = (one[["source", "method"]].iloc[0] == other[["source", "method"]].iloc[0]).all()
    return bool(same_row and len(at) and one.loc[at, FIGURES].equals(other.loc[at, FIGURES]))


def ranks(scores: pd.DataFrame) -> "pd.Series[int]":
    """Rank the best (1) and second-best (2) mean of a task and share among comparable figures.

    Figures are comparable if they have the same source, and measured figures if they have the same records.
    A single figure, or figures that are all equal, have no best.
    """
    means = (
        scores["macro_auc"]
        .round(2)
        .groupby([scores[name] for name in ("source", "task", "fraction", "task_sha256")])
    )
    rank = means.rank(method="dense", ascending=False)
    return rank.where((rank <= 2) & (means.transform("nunique") > 1)).astype("Int64")


def only(scores: pd.DataFrame, tasks: Collection[str]) -> pd.DataFrame:
    """Select the figures of given tasks. Raises `UsageError` for a task without figures."""
    if missing := set(tasks) - set(scores["task"]):
        remedy = "Probe a run on it first, or choose one that was probed"
        raise UsageError(f"no row belongs to the task {', '.join(sorted(missing))}", remedy=remedy)
    return scores[scores["task"].isin(list(tasks))]


def tasks_of(scores: pd.DataFrame) -> Sequence[str]:
    """Return tasks in order: the paper's first, the others by name."""
    tasks = scores["task"].unique()
    return [task for task in TITLES if task in tasks] + sorted(set(tasks) - TITLES.keys())


def names_of(scores: pd.DataFrame) -> "pd.Series[str]":
    """Return the label of each row: method, run if measured, and a mark for a collapsed run."""
    of_run = (scores["source"] == MEASURED) & (scores["group"] != "")
    names = scores["method"].where(~of_run, scores["group"] + ": " + scores["method"])
    return names.where(~(scores["h_rank"] < COLLAPSED), names + " (collapsed)")


def title(task: str) -> str:
    """Return a task's name for the table's head."""
    return TITLES.get(task, task)


def share(fraction: float) -> str:
    """Return a share of the training records as text, such as `1%`."""
    return f"{100 * fraction:g}%" if fraction else "no labels"


def read_report(path: str | Path) -> Report:
    """Read a probe's report. Raises `InputError` if it is unreadable or not a report."""
    return read_model(Report, Path(path), "isn't a probe report", "Probe the run again")
