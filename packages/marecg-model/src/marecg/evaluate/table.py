"""Collect published and measured scores in a frame with a row per score.

`published.tsv` has the rows of the paper's Table tab:linear_probe as printed. Measured scores come from the
reports in run folders. In a collapsed run, the encoder's vectors of records differ in little more than one
direction.
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
"""Titles of the paper's tasks, in the paper's order. The title of any other task is its name."""
PRINTED, MEASURED = "published", "measured"
KINDS = {
    **dict.fromkeys(("source", "group", "method", "task"), "str"),
    **dict.fromkeys(("fraction", "macro_auc", "sd", "low", "high"), "float64"),
    **{"test_records": "Int64", "task_sha256": "str", "leaked_records": "Int64"},
    **dict.fromkeys(("records", "seeds", "dimension"), "Int64"),
    **dict.fromkeys(("versus", "versus_low", "versus_high", "seconds", "h_rank"), "float64"),
    **dict.fromkeys(("auprc", "f_max"), "float64"),
}
"""Columns of the frame, and their types. Macro AUC, its spread over seeds and its interval are in percent.

source          `PRINTED` or `MEASURED`
group           the run; empty if several runs have the score in common
task_sha256     hash of the task; scores with the same hash can be compared
leaked_records  number of val and test records that the encoder was pretrained on; missing if unknown
records         number of training records of each of the `seeds` draws
dimension       number of features
versus          difference from the report's reference row on the same test records, with its interval
h_rank          smallest effective rank of the encoder's vectors of records (h_rhythm) over the tasks
auprc           mean of the classes' average precisions in percent
f_max           `metrics.f_max` in percent
"""
VERSUS = ["versus", "versus_low", "versus_high"]
"""Columns with the difference from a report's reference row. They can't be compared between reports."""
ROW = ["source", "group", "method"]
"""Columns that identify a row of a printed table."""
FIGURES = ["macro_auc", "sd", "low", "high", "test_records", "task_sha256", "leaked_records"]
"""Columns that must be equal in two runs before `merged` merges their scores."""


def tidy(lines: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Build a frame of scores from dictionaries with columns as keys.

    Absent fields become missing values, or "" in columns of text.
    """
    scores = pd.DataFrame(list(lines), columns=list(KINDS))
    texts = [name for name, kind in KINDS.items() if kind == "str"]
    return scores.fillna(dict.fromkeys(texts, "")).astype(KINDS)


def published() -> pd.DataFrame:
    """Return the scores of the paper's table."""
    wide = pd.read_csv(PUBLISHED, sep="\t").set_index(["group", "method"])
    lines = []
    for (group, method), row in wide.iterrows():
        for column, auc in row.items():
            task, _, share = column.partition(" ")
            line = {"source": PRINTED, "group": group, "method": method, "task": task}
            lines.append({**line, "fraction": share, "macro_auc": auc})
    return tidy(lines)


def measured(runs: Iterable[str | Path], protocol: str = "strict") -> pd.DataFrame:
    """Return the scores of several runs, read from `RUN/probe/*-PROTOCOL.json`. Equal rows are merged.

    A folder without such a report is skipped with a warning. Raises `UsageError` if no folder has a report.
    """
    reports = {run: sorted((run / "probe").glob(f"*-{protocol}.json")) for run in map(Path, runs)}
    unprobed = [run for run, paths in reports.items() if not paths]
    if unprobed and len(unprobed) == len(reports):
        problem = f"has no probe by protocol {protocol}"
        raise UsageError(problem, where=unprobed[0], remedy="Run `marecg probe` on it first")
    for run in unprobed:
        logger.warning("%s: skipped, because it has no probe by protocol %s", run, protocol)
    return of_reports((run, read_report(path)) for run, paths in reports.items() for path in paths)


def of_reports(reports: Iterable[tuple[Path, Report]]) -> pd.DataFrame:
    """Return the scores in several runs' reports, given as pairs of run folder and report.

    Rows that are equal in several runs are merged and come last, for example baselines; see `merged`.
    A run has the name of its folder or, if two folders have the same name, its path.
    """
    listed = list(reports)
    names = {run: run.resolve().name for run, _ in listed}
    counts = Counter(names.values())
    groups = {run: str(run) if counts[name] > 1 else name for run, name in names.items()}
    by_run = sorted(listed, key=lambda pair: list(names).index(pair[0]))
    return merged(tidy(line for run, report in by_run for line in lines(groups[run], report)))


def lines(group: str, report: Report) -> Iterable[dict[str, Any]]:
    """Yield a report's scores as dictionaries, each for a row of the frame.

    Args:
        group: name of the run.
        report: report of a probe.
    """
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
    """Return the AUC and average precision of each class in percent, at each method's largest share."""
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
    """Return a dictionary for each row of a frame. Missing values become None."""
    return list(frame.astype(object).where(frame.notna(), None).to_dict("records"))


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def merged(scores: pd.DataFrame) -> pd.DataFrame:
    """Merge rows that are equal in several runs, for example baselines.

    Rows of a run's own encoder (`ENCODER_METHODS`) are never merged. A merged row has an empty `group`, and
    comes after the other rows.
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


def _alike(left: pd.DataFrame, right: pd.DataFrame) -> bool:
    common = left.index.intersection(right.index)
    same_row = (left[["source", "method"]].iloc[0] == right[["source", "method"]].iloc[0]).all()
    return bool(same_row and len(common) and left.loc[common, FIGURES].equals(right.loc[common, FIGURES]))


def ranks(scores: pd.DataFrame) -> "pd.Series[int]":
    """Return 1 for the best and 2 for the second-best of comparable scores, and a missing value otherwise.

    Scores are comparable if they have the same task, share of the training records and source (published or
    measured) and, if measured, the same records, labels and split. If all comparable scores are equal, all
    ranks are missing.
    """
    means = (
        scores["macro_auc"]
        .round(2)
        .groupby([scores[name] for name in ("source", "task", "fraction", "task_sha256")])
    )
    rank = means.rank(method="dense", ascending=False)
    return rank.where((rank <= 2) & (means.transform("nunique") > 1)).astype("Int64")


def only(scores: pd.DataFrame, tasks: Collection[str]) -> pd.DataFrame:
    """Select the scores of some tasks. Raises `UsageError` for a task without scores."""
    if missing := set(tasks) - set(scores["task"]):
        remedy = "Probe a run on the task first, or choose another task"
        raise UsageError(f"no run was probed on {', '.join(sorted(missing))}", remedy=remedy)
    return scores[scores["task"].isin(list(tasks))]


def tasks_of(scores: pd.DataFrame) -> Sequence[str]:
    """Return the tasks in a frame: the paper's tasks in the paper's order, then others by name."""
    tasks = scores["task"].unique()
    return [task for task in TITLES if task in tasks] + sorted(set(tasks) - TITLES.keys())


def names_of(scores: pd.DataFrame) -> "pd.Series[str]":
    """Return the label of each row: method, run of a measured row, and a mark for a collapsed run."""
    of_run = (scores["source"] == MEASURED) & (scores["group"] != "")
    names = scores["method"].where(~of_run, scores["group"] + ": " + scores["method"])
    return names.where(~(scores["h_rank"] < COLLAPSED), names + " (collapsed)")


def title(task: str) -> str:
    """Return the title of a task."""
    return TITLES.get(task, task)


def share(fraction: float) -> str:
    """Format a share of the training records, for example as `1%`. The share 0 is `no labels`."""
    return f"{100 * fraction:g}%" if fraction else "no labels"


def read_report(path: str | Path) -> Report:
    """Read a probe's report. Raises `InputError` if the file is unreadable or isn't a report."""
    return read_model(Report, Path(path), "isn't a probe report", "Probe the run again")
