"""The rows of the paper's Table tab:linear_probe, and measured ones to stand under them.

`published.tsv` holds the rows as the paper prints them. Measured rows come from the reports in run folders.
"""

import csv
import logging
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import ValidationError

from marecg.base.errors import InputError, UsageError
from marecg.evaluate.scores.results import Cell, Report
from marecg.evaluate.scores.summary import OWN
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
"""The table's tasks in the paper's order; others follow under their own names."""
PRINTED, MEASURED = "published", "measured"
Column = tuple[str, float]
"""A task and a share of its training records."""


@dataclass(frozen=True)
class Value:
    """A macro AUC in percent; a measured one has an interval, and a spread where there were several seeds.

    Attributes:
        mean, sd, interval: see `results.Cell`.
        records: how many test records.
        asked: the hash of the task; only numbers of the same one can be compared.
        leaked: on how many val and test records the encoder was pretrained; None where nobody knows.
        seconds: wall time of the fits.
    """

    mean: float
    sd: float | None = None
    interval: tuple[float, float] | None = None
    records: int | None = None
    asked: str = ""
    leaked: int | None = 0
    seconds: float | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Row:
    """One method.

    Attributes:
        source: `PRINTED` or `MEASURED`.
        group: the run, empty where several share the row.
        method: whose features.
        values: by task and share.
        rank: the least effective rank of h_rhythm on a task, of a run's own encoder.
    """

    source: str
    group: str
    method: str
    values: dict[Column, Value]
    rank: float | None = field(default=None, compare=False)

    @property
    def collapsed(self) -> bool:
        """Whether records look alike to the encoder."""
        return self.rank is not None and self.rank < COLLAPSED


def published() -> list[Row]:
    """The rows of the paper's table, as it prints them."""
    with PUBLISHED.open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file, delimiter="\t"))
    return [
        Row(
            source=PRINTED,
            group=row["group"],
            method=row["method"],
            values={
                (task, float(share)): Value(float(row[f"{task} {share}"]))
                for task, _, share in (name.partition(" ") for name in row if " " in name)
            },
        )
        for row in table
    ]


def measured(runs: Iterable[Path], protocol: str = "strict") -> list[Row]:
    """The rows of all runs, from `RUN/probe/*-PROTOCOL.json`, each once.

    A folder without such a report is passed over with a warning, as long as another has one.

    Raises:
        UsageError: no folder was probed by that protocol.
        InputError: a report is damaged.
    """
    reports = {run: sorted((run / "probe").glob(f"*-{protocol}.json")) for run in runs}
    unprobed = [run for run, paths in reports.items() if not paths]
    if unprobed and len(unprobed) == len(reports):
        problem = f"has no probe by protocol {protocol}"
        raise UsageError(problem, where=unprobed[0], remedy="Run `marecg probe` on it first")
    for run in unprobed:
        logger.warning("%s: passed over, it has no probe by protocol %s", run, protocol)
    return measured_rows((run, read_report(path)) for run, paths in reports.items() for path in paths)


def measured_rows(found: Iterable[tuple[Path, Report]]) -> list[Row]:
    """One row per method of every run, from its reports, without repetition; what is no run's own comes last.

    A run goes by its folder's name, or by the path as given where two folders have the same name.
    """
    reports: dict[Path, list[Report]] = {}
    for run, report in found:
        reports.setdefault(run, []).append(report)
    names = {run: run.resolve().name for run in reports}
    shared = [name for name, count in Counter(names.values()).items() if count > 1]
    rows = [
        row
        for run, of_run in reports.items()
        for row in _rows(str(run) if names[run] in shared else names[run], of_run)
    ]
    return sorted(merged(rows), key=lambda row: not row.group)


def _rows(group: str, reports: Iterable[Report]) -> list[Row]:
    values: dict[str, dict[Column, Value]] = {}
    ranks: list[float] = []
    for report in reports:
        ranks += [] if report.rank is None else [report.rank]
        for cell in report.cells:
            values.setdefault(cell.method, {})[report.task, cell.fraction] = _value(cell, report)
    rank = min(ranks, default=None)
    return [
        Row(MEASURED, group, method, found, rank if method in OWN else None)
        for method, found in values.items()
    ]


def merged(rows: Sequence[Row]) -> list[Row]:
    """The rows without repetition: what stands beside several runs with the same numbers stands there once.

    An encoder and its prototypes are a run's own, whatever their numbers.
    """
    found: list[Row] = []
    for row in rows:
        same = (each for each in found if _alike(row, each))
        twin = None if row.method in OWN else next(same, None)
        if twin is None:
            found.append(row)
        else:
            found[found.index(twin)] = replace(twin, group="", values=twin.values | row.values)
    return found


def _alike(one: Row, other: Row) -> bool:
    shared = one.values.keys() & other.values.keys()
    return (
        one.source == other.source == MEASURED
        and one.method == other.method
        and bool(shared)
        and all(one.values[column] == other.values[column] for column in shared)
    )


def columns(rows: Sequence[Row]) -> list[Column]:
    """Every task and share that a row has a value for: the paper's tasks first, shares in ascending order."""
    found = {column for row in rows for column in row.values}
    order = list(TITLES)
    return sorted(found, key=lambda column: (order.index(column[0]) if column[0] in order else 99, *column))


def ranks(rows: Sequence[Row], column: Column) -> dict[int, int]:
    """Row number → 1 or 2 for the best and second-best mean of a column, among rows that can be compared.

    Those are the rows of one source, and of the measured ones those that were asked on the same records.
    """
    comparable: dict[tuple[str, str], dict[int, float]] = {}
    for number, row in enumerate(rows):
        if value := row.values.get(column):
            comparable.setdefault((row.source, value.asked), {})[number] = round(value.mean, 2)
    found: dict[int, int] = {}
    for means in comparable.values():
        if len(set(means.values())) == 1:
            continue  # a row alone, or rows that are all alike, are no best
        for rank, mean in enumerate(sorted(set(means.values()), reverse=True)[:2], start=1):
            found |= {number: rank for number, value in means.items() if value == mean}
    return found


def only(rows: Iterable[Row], tasks: Collection[str]) -> list[Row]:
    """The rows on these tasks alone; a row without any of them is left out.

    Raises:
        UsageError: no row has one of the tasks.
    """
    rows = list(rows)
    if unknown := set(tasks) - {task for row in rows for task, _ in row.values}:
        remedy = "Probe a run on it first, or choose one that was probed"
        raise UsageError(f"no row has the task {', '.join(sorted(unknown))}", remedy=remedy)
    kept = [{column: row.values[column] for column in row.values if column[0] in tasks} for row in rows]
    return [replace(row, values=values) for row, values in zip(rows, kept, strict=True) if values]


def judged(rows: Iterable[Row]) -> dict[str, dict[str, tuple[int, list[str]]]]:
    """Of the measured rows, by task and hash: how many test records, and which runs were asked on them."""
    found: dict[str, dict[str, tuple[int, list[str]]]] = {}
    for row in rows:
        for (task, _), value in row.values.items():
            if value.records is not None:
                runs = found.setdefault(task, {}).setdefault(value.asked, (value.records, []))[1]
                runs += [name for name in [row.group or row.method] if name not in runs]
    return found


def title(task: str) -> str:
    """A task's name in the table's head."""
    return TITLES.get(task, task)


def share(fraction: float) -> str:
    """A share of the training records, such as `1%`."""
    return f"{100 * fraction:g}%" if fraction else "no labels"


def _value(cell: Cell, report: Report) -> Value:
    own = cell.method in (*OWN, report.reference)
    return Value(
        mean=100 * cell.macro_auc.mean,
        sd=None if cell.macro_auc.sd is None else 100 * cell.macro_auc.sd,
        interval=(100 * cell.interval.low, 100 * cell.interval.high),
        records=report.records.test,
        asked=report.task_sha256,
        leaked=0 if not own else None if report.leak is None else report.leak.records,
        seconds=cell.seconds,
    )


def read_report(path: Path) -> Report:
    """Read a probe's report. Raises `InputError` when it can't be read or isn't one."""
    try:
        return Report.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError, UnicodeDecodeError) as error:
        problem = " ".join(str(error).split())[:200]
        raise InputError(
            f"isn't a probe report ({problem})", where=path, remedy="Probe the run again"
        ) from error
