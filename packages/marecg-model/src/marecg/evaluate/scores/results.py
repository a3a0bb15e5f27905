"""Define the report of a probe, which is stored as JSON, and describe how its scores were obtained."""

from collections.abc import Iterator, Sequence

from marecg.evaluate.scores.metrics import RELIABLE_COUNT
from marecg.model.card_figures import GroupFigure
from marecg.settings import Count, FromZero, Frozen, Share

LEAK = (
    "† Leak: the encoder was pretrained on {records} of the val and test records or on their "
    "patients ({counts}). Its scores don't apply to new records."
)
NO_LEAK = "The encoder wasn't pretrained on any of the val and test records, nor on their patients."
UNKNOWN = "It is not known which records the encoder was pretrained on, so a leak can't be excluded."


class Spread(Frozen):
    """Mean and sample standard deviation of a score over seeds. `sd` is None for a single seed."""

    mean: Share
    sd: FromZero | None


class Range(Frozen):
    """95 % interval of a score, from resamples of the test records."""

    low: Share
    high: Share


class AucDifference(Frozen):
    """Difference of two macro AUCs on the same records, with its 95 % interval and two-sided p-value."""

    low: float
    high: float
    mean: float
    p: Share


class ClassScore(Frozen):
    """AUC and average precision (`ap`) of a class on the test records.

    `support` is the number of positives.
    """

    name: str
    support: Count
    auc: Spread
    ap: Spread


class Cell(Frozen):
    """Scores of a method at a share of the training records.

    Attributes:
        method: row of the report, for example `encoder` or `zero-shot`.
        dimension: number of features.
        fraction: share of the training records; 0 for zero-shot.
        records: number of records in the share.
        seeds: number of draws.
        macro_auc: macro AUC over `classes`.
        interval: 95 % interval of the mean macro AUC over seeds.
        versus_encoder: difference from the report's `reference`. It is None for the reference itself, and if
            the reference wasn't probed at this share.
        val_macro_auc: macro AUC on val with the chosen value; None for zero-shot.
        chosen: value chosen on val for each seed: C in the protocol `strict`, the epoch in the protocol
            `merl`, or α for ridge regression. Empty for zero-shot.
        classes: classes with positives and negatives in test.
        left_out: classes without positives or without negatives in test.
        untrained: for each seed, classes without examples in the drawn records, or without a concept. The
            report's policy defines how they count.
        seconds: wall time of all draws, without the time for computing features.
        macro_ap: mean of the average precisions of `classes` (AUPRC).
        f_max: `metrics.f_max` over all classes, averaged over rotations.
    """

    method: str
    dimension: Count
    fraction: Share
    records: Count
    seeds: Count
    macro_auc: Spread
    interval: Range
    versus_encoder: AucDifference | None
    val_macro_auc: Spread | None
    chosen: tuple[FromZero, ...]
    classes: tuple[ClassScore, ...]
    left_out: tuple[str, ...]
    untrained: tuple[tuple[str, ...], ...]
    seconds: FromZero
    macro_ap: Spread | None = None
    f_max: Spread | None = None


class Counts(Frozen):
    """Numbers of a task's records, and the records that couldn't be used.

    Attributes:
        train, val, test: numbers of records in each part of the split. With rotations of the folds, `test` is
            the total, and `train` and `val` are means over rotations.
        unlabelled: number of records without labels, which are left out.
        missing: names of labelled records that are not on disk.
        unreadable: reasons why records couldn't be read, by the name of the record.
    """

    train: Count
    val: Count
    test: Count
    unlabelled: Count
    missing: tuple[str, ...]
    unreadable: dict[str, str]


class Leak(Frozen):
    """Validation and test records with which the encoder's training data overlap. Each is listed once.

    Attributes:
        records: number of these records.
        same_record: names of the records that are in the training data.
        same_patient: names of other records whose patient is in the training data.
        same_signal: names of other records whose signal is in the training data.
    """

    records: Count
    same_record: tuple[str, ...]
    same_patient: tuple[str, ...]
    same_signal: tuple[str, ...]


class Report(Frozen):
    """Report of a probe: its conditions and its scores. Hashes that don't apply are empty.

    Attributes:
        reference: method that the report is about. The other methods are compared with it.
        normalisation: description of how signals and features are scaled.
        policy: description of the classes that the macro AUC averages over.
        notes: differences of the protocol from the published code that it follows.
        folds: description of how the records were split.
        window: description of the part of a recording that is read.
        model: name of the model's folder, or of the file of features.
        model_sha256: hash of the model's weights, or of the file of features.
        ontology_sha256: hash of the model's list of concepts.
        data_sha256: hash that changes when the recordings change.
        task_sha256: hash of the task's records, labels and split.
        concepts_sha256: hash of the model's concept scores; empty if only its prototypes are used.
        leak: leaked records; None if the encoder's training records are unknown.
        rank: effective rank of the encoder's record vectors, which is the number of directions in which the
            task's records differ. The smallest over rotations. None for a file of features.
        request: options of the probe (`Request.as_json`).
        remarks: remarks needed to interpret the encoder's rows.
        rotations: number of rotations of the folds. Test records are pooled, and scores are averaged.
        cells: scores of each method at each share.
        groups: scores by age, sex and source, if the task has these attributes.
    """

    task: str
    protocol: str
    reference: str
    normalisation: str
    policy: str
    notes: tuple[str, ...]
    folds: str
    window: str
    classes: tuple[str, ...]
    records: Counts
    model: str
    model_sha256: str
    ontology_sha256: str
    data_sha256: str
    task_sha256: str
    concepts_sha256: str = ""
    leak: Leak | None
    rank: FromZero | None = None
    request: str = ""
    remarks: tuple[str, ...] = ()
    rotations: Count = 1
    cells: tuple[Cell, ...]
    groups: tuple[GroupFigure, ...] = ()


def describe_leak(leak: Leak | None) -> str:
    """Return a text on whether the encoder was pretrained on val or test records, or on their patients."""
    if leak is None:
        return UNKNOWN
    if not leak.records:
        return NO_LEAK
    signs = {"record": leak.same_record, "patient": leak.same_patient, "signal": leak.same_signal}
    counts = ", ".join(f"{len(records)} by the same {sign}" for sign, records in signs.items() if records)
    return LEAK.format(records=leak.records, counts=counts)


def basis(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the conditions of a report's scores, for example the split, as pairs of name and value."""
    records = report.records
    pooled = ""
    if report.rotations > 1:
        pooled = f" (test: pooled from {report.rotations} rotations; train and val: average per rotation)"
    yield (
        "records",
        f"{records.train} train, {records.val} val, {records.test} test{pooled}; {records.unlabelled} "
        f"without a class, {len(records.missing)} missing, {len(records.unreadable)} unusable",
    )
    yield from (("split", report.folds), ("window", report.window), ("scaling", report.normalisation))
    yield from (("macro AUC", report.policy), ("model", report.model))
    for name in ("model", "ontology", "data", "task"):
        if sha256 := getattr(report, f"{name}_sha256"):
            yield f"SHA-256 of the {name}", sha256
    yield from _rare(report)
    yield from _lacking(report)
    yield from (("the encoder", remark) for remark in report.remarks)
    yield from (("protocol", note) for note in report.notes)


def _rare(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the classes with few positives or negatives in test, and the macro AUC of the other classes."""
    largest = {cell.method: cell for cell in report.cells}  # the shares ascend
    supports = {score.name: score.support for score in report.cells[0].classes}
    fewer = {name: min(support, report.records.test - support) for name, support in supports.items()}
    rare = [name for name, count in fewer.items() if count < RELIABLE_COUNT]
    if not rare:
        return
    yield f"classes with fewer than {RELIABLE_COUNT} positives or negatives in test", ", ".join(rare)
    if others := [name for name in supports if name not in rare]:
        means = {
            f"{method} at {100 * cell.fraction:g} %" if cell.fraction else method: sum(
                score.auc.mean for score in cell.classes if score.name in others
            )
            / len(others)
            for method, cell in largest.items()
        }
        figures = ", ".join(f"{name} {100 * mean:.1f}" for name, mean in means.items())
        yield f"macro AUC in percent over the other {len(others)}", figures


def _lacking(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the classes that have no AUC, lack examples in a draw, or have no concept."""
    if left_out := report.cells[0].left_out:
        yield "without positives or negatives in test, so without an AUC", ", ".join(left_out)
    scored = {score.name for score in report.cells[0].classes}
    for fraction in dict.fromkeys(cell.fraction for cell in report.cells):
        draws = [draw for cell in report.cells if cell.fraction == fraction for draw in cell.untrained]
        lack = f"without examples in a draw of {100 * fraction:g} %" if fraction else "no concept, so AUC ½"
        if names := sorted(scored & set().union(*draws)):
            yield lack, ", ".join(names)


def remarks(report: Report) -> list[str]:
    """Return warnings about leaked, missing and unreadable records."""
    records, leak, task = report.records, report.leak, report.task
    lines = []
    if leak and leak.records:
        leaked = _first((*leak.same_record, *leak.same_patient, *leak.same_signal))
        lines.append(
            f"{task}: the encoder was pretrained on {leak.records} of the {records.val} val "
            f"and {records.test} test records or on their patients: {leaked}"
        )
    if records.missing:
        lines.append(f"{task}: labelled but not on disk ({len(records.missing)}): {_first(records.missing)}")
    if records.unreadable:
        reasons = [f"{record} ({reason})" for record, reason in records.unreadable.items()]
        lines.append(f"{task}: unreadable ({len(reasons)}): {_first(reasons)}")
    return lines


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", … (all in --format json)" if len(names) > 5 else "")
