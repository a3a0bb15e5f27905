"""Figures of a model card: probe scores by task, class and group of people.

AUCs are between 0 and 1. Intervals contain 95 % of resamples of the test records.
"""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from ecg_base import plain_markdown
from marecg.base.markdown import table
from marecg.settings import Count, Settings, Share

Figure = TypeVar("Figure", bound=Settings)
POOR = 0.7
"""A class is listed as a known failure if the lower end of its AUC interval is below this limit."""


class Auc(Settings):
    """AUC and its 95 % interval, from `low` to `high`."""

    auc: Share
    low: Share
    high: Share


class ClassFigure(Auc):
    """AUC and calibration of one class on the test records.

    Attributes:
        name: name of the class.
        positives: number of test records in the class.
        ece: expected calibration error of the sigmoid of the logits.
        ece_chance: calibration error that perfectly calibrated probabilities would have by chance.
    """

    name: str
    positives: Count
    ece: Share
    ece_chance: Share


class GroupFigure(Auc):
    """Macro AUC in a group of people.

    Attributes:
        kind: property that defines the group, for example "sex".
        name: value of the property, for example "F".
        records: number of test records in the group.
        classes: number of classes with enough positives and negatives in the group.
        everyone: macro AUC of all test records on these classes.
    """

    kind: str
    name: str
    records: Count
    classes: Count
    everyone: Share


class Score(Auc):
    """Macro AUC of a method on a task, with a 95 % bootstrap interval, as a model card prints it.

    Attributes:
        task: name of the task.
        method: name of the method.
        fraction: share of the training records that the method used. 0 if it needs no training records.
        tested: number of test records.
        leaks: whether the encoder was pretrained on validation or test records. None if unknown.
        concepts_sha256: hash of the model's concept scores. Empty if the method used only prototypes.
        classes: figures by class. Empty except for the method that the probe is about, at its largest share
            of the training records.
        groups: figures by group of people. Empty except for the same method and share.
    """

    task: str
    method: str
    fraction: Share
    tested: Count
    leaks: bool | None
    concepts_sha256: str = ""
    classes: tuple[ClassFigure, ...] = ()
    groups: tuple[GroupFigure, ...] = ()


def reached(scores: Sequence[Score], concepts_sha256: str = "") -> str:
    """Return the section of a model card with the scores: a table, and details by task.

    The table has a row per method and share of training records, and a column per task.

    Args:
        scores: results of evaluations. If there are none, the section is empty.
        concepts_sha256: hash of the model's concept scores. A line warns if a result used other scores.
    """
    if not scores:
        return ""
    scores = [_plain(score) for score in scores]
    tasks = list(dict.fromkeys((score.task, score.tested) for score in scores))
    rows = dict.fromkeys((score.method, score.fraction) for score in scores)
    cells = {(score.method, score.fraction, score.task): score for score in scores}
    lines = ["", "## Results", ""]
    lines += [
        "Macro AUC in percent of a linear probe on the frozen encoder, with 95 % bootstrap intervals.",
        "",
    ]
    lines += table(
        ["method", "training records", *(f"{task} ({tested} test)" for task, tested in tasks)],
        [
            [
                method,
                f"{100 * fraction:g} %" if fraction else "none",
                *(_figure(cells.get((method, fraction, task))) for task, _ in tasks),
            ]
            for method, fraction in rows
        ],
    )
    if any(score.leaks for score in scores):
        lines += ["", "†: the encoder was pretrained on validation or test records."]
    if any(score.leaks is None for score in scores):
        lines += ["", "?: it is unknown whether the encoder was pretrained on validation or test records."]
    if any(score.concepts_sha256 != concepts_sha256 for score in scores):
        lines += ["", "Rows with concept scores (full, concepts, zero-shot) used earlier concept scores."]
    lines += [line for score in scores for line in _in_detail(score)]
    return "\n".join([*lines, *_failures(scores), ""])


def _plain(figure: Figure) -> Figure:
    """Return the figure with its names escaped for Markdown, because names come from users' files."""
    names = {key: plain_markdown(value) for key, value in figure if isinstance(value, str)}
    parts = {key: tuple(map(_plain, value)) for key, value in figure if isinstance(value, tuple)}
    return figure.model_copy(update=names | parts)


def _in_detail(score: Score) -> Iterator[str]:
    """Yield the lines of two tables of a task: its classes, and its groups of people."""
    if score.classes:
        yield from ("", f"### {score.task}: {score.method}, {100 * score.fraction:g} %, by class", "")
        errors = [f"{100 * figure.ece:.1f} ({100 * figure.ece_chance:.1f})" for figure in score.classes]
        figures = zip(score.classes, errors, strict=True)
        rows = [[figure.name, figure.positives, _auc(figure), error] for figure, error in figures]
        yield from table(["class", "positives", "AUC", "calibration error (by chance)"], rows)
    if score.groups:
        yield ""
        yield from table(
            ["group", "records", "classes", "macro AUC", "macro AUC of all records on these classes"],
            [
                [f"{g.kind} {g.name}", g.records, g.classes, _auc(g), f"{100 * g.everyone:.1f}"]
                for g in score.groups
            ],
        )


def _failures(scores: Sequence[Score]) -> Iterator[str]:
    """Yield classes that may be recognised badly, and groups with a lower AUC than all records together."""
    poor_classes = [f"{c.name} ({score.task})" for score in scores for c in score.classes if c.low < POOR]
    worse_groups = [
        f"{group.kind} {group.name} ({score.task}, {100 * (group.auc - group.everyone):+.1f})"
        for score in scores
        for group in score.groups
        if group.high < group.everyone
    ]
    if poor_classes or worse_groups:
        yield from ("", "### Known failures", "")
    if poor_classes:
        yield f"- AUC may be below {100 * POOR:g}: {', '.join(poor_classes)}."
    if worse_groups:
        yield f"- Groups with a lower AUC than all records together: {', '.join(worse_groups)}."


def _auc(figure: Auc, mark: str = "") -> str:
    return f"{100 * figure.auc:.1f}{mark} [{100 * figure.low:.1f}, {100 * figure.high:.1f}]"


def _figure(score: Score | None) -> str:
    if score is None:
        return ""
    return _auc(score, {None: "?", True: "†", False: ""}[score.leaks])
