"""Define the commands `marecg probe` and `marecg table`."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ecg_base import InputError, UsageError
from marecg_cli._options import (
    ROOT,
    As,
    ReportFolder,
    Tasks,
    by_group,
    local_path,
    one_of,
    refuse_missing,
    set_option,
    shares,
    task_names,
)
from marecg_cli._output import EXIT_UNREADABLE, message, problem, result, result_json

if TYPE_CHECKING:
    from marecg.evaluate.request import Request
    from marecg.evaluate.scores.results import Report
    from marecg.evaluate.tasks.task import Folds, TaskDefinition
    from marecg_cli._settings import FineTuning

TableFormat = Literal["markdown", "latex", "csv", "json"]
PairedTest = Literal["bootstrap", "delong"]
FINETUNE = "finetune"
"""Protocol that also trains the encoder. Its settings are `--set finetune.KEY`."""


def _baselines() -> tuple[str, ...]:
    from marecg.base.plugins import offered_names
    from marecg.evaluate.request import BASELINES

    return (*BASELINES, *offered_names("baseline"))


def _protocols() -> tuple[str, ...]:
    from marecg.base.plugins import offered_names
    from marecg.evaluate.request import PROTOCOLS

    return (*PROTOCOLS, FINETUNE, *offered_names("protocol"))


def probe(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN]…",
            help="Run folders or models. [default: marecg-small, or only --features]",
        ),
    ] = None,
    *,
    task: Tasks = None,
    root: Annotated[list[str] | None, typer.Option(**ROOT)] = None,
    fraction: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBERS",
            help="Shares of the training records to use. [default: 0.01,0.1,1; for finetune: 1]",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Number of draws for each share below 1.")] = 5,
    protocol: Annotated[
        str,
        typer.Option(
            help="strict, merl, finetune (also trains the encoder) or FILE.py:NAME.",
            **one_of(_protocols),
        ),
    ] = "strict",
    features: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="Features of another model: .npz with ids and features, or folder of `marecg embed`.",
        ),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Additional baseline: resnet1d or FILE.py:NAME; may be repeated.",
            **one_of(_baselines),
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        set_option(
            "Change a setting, for example readout=full, without='hand-crafted;encoder, wide', "
            "folds=1-5,6,7-8 (train, select, test), splits=FOLDER, feature_cache=FOLDER or "
            "finetune.layers='head;all'; may be repeated."
        ),
    ] = None,
    out: ReportFolder = None,
    card: Annotated[
        bool, typer.Option("--card", help="Also write the scores into the model card of each run.")
    ] = False,
    form: As = "text",
) -> None:
    """Evaluate frozen encoders with a linear probe, next to baselines.

    The baselines are an untrained encoder, hand-crafted features and zero-shot classification. A single run
    and task print a report, several runs or tasks print a table. --protocol finetune trains the encoder on
    the labels of the task. --help-settings lists all settings.

    Example: marecg probe runs/c1 runs/c3 --task all --root ptbxl=ptb-xl --root cpsc2018=cpsc_2018

    Example: marecg probe runs/c3 --protocol finetune --set finetune.layers='head;all' --root data/ptb-xl
    """
    from marecg.base.offers import TASKS
    from marecg.base.plugins import refuse_unknown
    from marecg.model.names import local_folder
    from marecg_cli._settings import FineTuning, Probe, read

    for name in task or ():
        if name != "all" and not name.endswith(".csv"):
            refuse_unknown(name, TASKS, "task")
    refuse_missing(*(name for name in task or () if name.endswith(".csv")))
    refuse_missing(*(feature.rpartition("=")[2] for feature in features or ()))
    for run in runs or ():
        local_folder(run)
    if card and out:
        raise UsageError("--card can't be combined with --out")
    tuning_settings, probe_settings = by_group("finetune.", set_)
    tuning, values = read(FineTuning, tuning_settings, "finetune."), read(Probe, probe_settings).given()
    from marecg.evaluate.model_card import write_model_card
    from marecg.evaluate.request import FRACTIONS, Request, baseline_named, protocol_named
    from marecg.evaluate.tasks.registry import roots

    folders = list(runs or ())
    if not folders and not features:
        folders = ["marecg-small"]
    roots_of = roots(task or ["ptbxl-super"], root or [])
    failures: list[str] = []
    if protocol == FINETUNE:
        if features or baseline or card or values.keys() - {"folds"}:
            problem_text = (
                "accepts no --features, --baseline or --card, and only the settings folds and finetune.KEY"
            )
            raise UsageError(problem_text, where="--protocol finetune", remedy="Omit the others")
        folds = values.get("folds", ())
        reports = _fine_tuned(folders, roots_of, tuning, shares(fraction), seeds, out, folds)
    elif tuning_settings:
        where, remedy = f"--set {tuning_settings[0]}", "Add --protocol finetune"
        raise UsageError("needs the protocol finetune", where=where, remedy=remedy)
    else:
        features_in = values.pop("feature_cache", None)
        baselines = tuple(map(baseline_named, baseline or ()))
        fractions = shares(fraction) or FRACTIONS
        request = Request(fractions, seeds, protocol_named(protocol), baselines=baselines, **values)
        reports = _probed(folders, roots_of, request, features or (), out, features_in, failures)
    for folder in dict.fromkeys(folders if card else []):
        message(f"card: {write_model_card(folder, protocol)}")
    _print_reports(reports, form)
    for line in failures:
        problem(line)
    if failures and not reports:
        raise typer.Exit(EXIT_UNREADABLE)


def _probed(
    folders: list[str],
    roots_of: "Mapping[TaskDefinition, Path]",
    request: "Request",
    features: Iterable[str],
    out: Path | None,
    features_in: Path | None,
    failures: list[str],
) -> "list[tuple[Path, Report]]":
    """Return the reports of linear probes. Errors of runs that can't be probed are appended to `failures`."""
    from marecg.evaluate.probes import probe_many

    pairs = [feature.rpartition("=") for feature in features]
    files = {name or Path(file).stem: local_path(file) for name, _, file in pairs}
    reports = []
    for folder, report in probe_many(folders, roots_of, request, files, out=out, features_in=features_in):
        if isinstance(report, InputError):
            failures.append(f"not probed: {report}")
        else:
            reports.append(_announced(folder, report))
    return reports


def _fine_tuned(
    folders: list[str],
    roots_of: "Mapping[TaskDefinition, Path]",
    tuning: "FineTuning",
    fractions: tuple[float, ...],
    seeds: int,
    out: Path | None,
    folds: Sequence["Folds"],
) -> "list[tuple[Path, Report]]":
    """Fine-tune an encoder on each task. Return a report per task, with a row per choice of layers."""
    from marecg.classify.finetune import finetune
    from marecg.classify.tuning import Tuning

    if len(folders) != 1:
        problem = f"needs exactly one encoder, got {len(folders)}"
        raise UsageError(problem, where="--protocol finetune", remedy="Give a single RUN")
    values = tuning.given()
    values.pop("layers", None)
    tunings = [Tuning(layers, **values) for layers in tuning.layers]
    folder, fractions = out or Path(folders[0]), fractions or (1.0,)
    reports = []
    for task, root in roots_of.items():
        report = finetune(
            folders[0], task, root, tunings, fractions=fractions, seeds=seeds, folds=folds, out=out
        )
        reports.append(_announced(folder, report))
    return reports


def _announced(folder: Path, report: "Report") -> "tuple[Path, Report]":
    """Print a message that a probe is done, with the remarks of its report. Return the arguments."""
    from marecg.evaluate.scores.results import remarks

    for line in (f"measured: {folder}, {report.task}", *remarks(report)):
        message(line)
    return folder, report


def _print_reports(reports: "Sequence[tuple[Path, Report]]", form: str) -> None:
    from marecg_cli._scores_text import many_text, probe_text

    if form == "json":
        dumped = [report.model_dump(mode="json") for _, report in reports]
        result_json(dumped[0] if len(dumped) == 1 else dumped)
    elif reports:
        result(probe_text(reports[0][1]) if len(reports) == 1 else many_text(reports))


def table(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN…", help="Run folders with probe reports.")
    ] = None,
    output: Annotated[TableFormat, typer.Option("--format", help="Output format.")] = "markdown",
    task: Annotated[
        list[str] | None,
        typer.Option(help="Task to show; may be repeated. [default: all]", **one_of(task_names)),
    ] = None,
    protocol: Annotated[str, typer.Option(help="Protocol of the reports.", **one_of(_protocols))] = "strict",
    published: Annotated[bool, typer.Option(help="Also show the rows of the paper.")] = True,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Print a line per task with 95 % intervals.")
    ] = False,
    compare: Annotated[
        PairedTest | None,
        typer.Option(help="Print the differences in macro AUC between the first run and the others."),
    ] = None,
) -> None:
    """Print the table of the paper with the rows of your runs, or compare runs.

    Example: marecg table runs/c1 runs/c3 --intervals
    """
    import pandas as pd

    from marecg.evaluate import table as tables
    from marecg.evaluate import table_print

    if compare:
        _print_differences(runs or [], task or [], protocol, compare, output)
        return
    printed = [tables.published()] if published else []
    scores = pd.concat([*printed, tables.measured(runs or [], protocol)], ignore_index=True)
    if task:
        scores = tables.only(scores, task)
    result(table_print.FORMATS[output](scores, intervals).rstrip())


def _print_differences(
    runs: list[Path], tasks: list[str], protocol: str, test: PairedTest, output: TableFormat
) -> None:
    """Print the score differences between the first run and each other run, with intervals and p values."""
    from marecg.evaluate.scores.predictions import differences

    lines = []
    for task, other, by_fraction, few in differences(runs, tasks, protocol, test):
        if few:
            counts = ", ".join(f"{name} {count}" for name, count in few.items())
            message(
                f"intervals and p are rough, because some classes have few positive test records: {counts}"
            )
        if test == "delong" and 1 in few.values():
            message("DeLong's test has no variance for a class with one positive; use --compare bootstrap")
        for fraction, difference in by_fraction.items():
            pair = {"task": task, "run": str(runs[0]), "other": str(other), "fraction": fraction}
            lines.append({**pair, **difference.model_dump()})
    if output == "json":
        result_json(lines)
        return
    for line in lines:
        low, mean, high = (100 * line[name] for name in ("low", "mean", "high"))
        interval = f"{mean:+.2f} [{low:+.2f}, {high:+.2f}], p = {line['p']:.2g}"
        result(f"{line['task']}, minus {line['other']}, {100 * line['fraction']:g} % of train: {interval}")
