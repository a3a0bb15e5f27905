"""The rows of the paper's Table tab:linear_probe, and measured ones to stand under them.

`published.tsv` holds the rows as the paper prints them. Measured rows come from the reports in run folders.
"""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import ValidationError

from marecg.errors import InputError, UsageError
from marecg.evaluate.results import Cell, Report
from marecg.evaluate.summary import REFERENCE, ZERO_SHOT

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
OWN = (REFERENCE, ZERO_SHOT)
"""The methods that are read from a run's own encoder."""
Column = tuple[str, float]
"""A task and a share of its training records."""


@dataclass(frozen=True)
class Value:
    """A macro AUC in percent; a measured one has an interval, and a spread where there were several seeds.

    Attributes:
        mean, sd, interval: see `results.Cell`.
        records: how many test records.
        leaked: on how many val and test records the encoder was pretrained.
        seconds: wall time of the fits.
    """

    mean: float
    sd: float | None = None
    interval: tuple[float, float] | None = None
    records: int | None = None
    leaked: int = 0
    seconds: float | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Row:
    """One method: `source` is `PRINTED` or `MEASURED`, `group` the run, empty where several share the row."""

    source: str
    group: str
    method: str
    values: dict[Column, Value]


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


def measured(run: Path, protocol: str = "strict") -> list[Row]:
    """One row per method that was probed in a run, from `run/probe/*-PROTOCOL.json`.

    Raises:
        UsageError: the run was never probed by that protocol.
        InputError: a report is damaged.
    """
    paths = sorted((run / "probe").glob(f"*-{protocol}.json"))
    if not paths:
        raise UsageError(
            f"has no probe by protocol {protocol}", where=run, remedy="Run `marecg probe` on it first"
        )
    return measured_rows(run.name, map(read_report, paths))


def measured_rows(group: str, reports: Iterable[Report]) -> list[Row]:
    """One row per method of some reports on the same run."""
    values: dict[str, dict[Column, Value]] = {}
    for report in reports:
        for cell in report.cells:
            values.setdefault(cell.method, {})[report.task, cell.fraction] = _value(cell, report)
    return [Row(MEASURED, group, method, found) for method, found in values.items()]


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
    """Row number → 1 or 2 for the best and second-best mean of a column, among rows of the same source."""
    found: dict[int, int] = {}
    for source in dict.fromkeys(row.source for row in rows):
        means = {
            number: round(row.values[column].mean, 2)
            for number, row in enumerate(rows)
            if row.source == source and column in row.values
        }
        for rank, mean in enumerate(sorted(set(means.values()), reverse=True)[:2], start=1):
            found |= {number: rank for number, value in means.items() if value == mean}
    return found


def title(task: str) -> str:
    """A task's name in the table's head."""
    return TITLES.get(task, task)


def share(fraction: float) -> str:
    """A share of the training records, such as `1%`."""
    return f"{100 * fraction:g}%" if fraction else "no labels"


def _value(cell: Cell, report: Report) -> Value:
    leaked = report.leak.records if report.leak and cell.method in OWN else 0
    return Value(
        mean=100 * cell.macro_auc.mean,
        sd=None if cell.macro_auc.sd is None else 100 * cell.macro_auc.sd,
        interval=(100 * cell.interval.low, 100 * cell.interval.high),
        records=report.records.test,
        leaked=leaked,
        seconds=cell.seconds,
    )


def read_report(path: Path) -> Report:
    """Read a probe's report. Raises `InputError` when it can't be read or is none."""
    try:
        return Report.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError, UnicodeDecodeError) as error:
        problem = " ".join(str(error).split())[:200]
        raise InputError(
            f"is no probe report ({problem})", where=path, remedy="Probe the run again"
        ) from error
