"""What a probe's numbers rest on, in words: the terminal and the pages say the same."""

from collections.abc import Iterator, Sequence

from marecg.evaluate.scores.results import Leak, Report

LEAK = (
    "† Leak: the encoder was pretrained on {records} of the val and test records or on their "
    "patients ({counts}). Its numbers don't measure how it does on records that it has never seen."
)
NO_LEAK = "None of the val and test records, nor their patients, were among those it was pretrained on."
UNKNOWN = "It is not known which records the encoder was pretrained on, so a leak can't be excluded."


def describe_leak(leak: Leak | None) -> str:
    """Whether the encoder was pretrained on records that judge it, in a sentence or two."""
    if leak is None:
        return UNKNOWN
    if not leak.records:
        return NO_LEAK
    signs = {"record": leak.same_record, "patient": leak.same_patient, "signal": leak.same_signal}
    counts = ", ".join(f"{len(records)} by the same {sign}" for sign, records in signs.items() if records)
    return LEAK.format(records=leak.records, counts=counts)


def basis(report: Report) -> Iterator[tuple[str, str]]:
    """Everything that a number depends on: what it is, and its value."""
    records = report.records
    pooled = f" (pooled from {report.rotations} rotations, the others on average)" * (report.rotations > 1)
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
    yield from _lacking(report)
    yield from (("the encoder", remark) for remark in report.remarks)
    yield from (("otherwise than in MERL's code", note) for note in report.notes)


def _lacking(report: Report) -> Iterator[tuple[str, str]]:
    """Classes without an AUC, that a draw of the training records did not show, or without a concept."""
    if left_out := report.cells[0].left_out:
        yield "without positives or negatives in test, so without an AUC", ", ".join(left_out)
    shown = dict.fromkeys((cell.fraction, cell.untrained) for cell in report.cells)
    scored = {each.name for each in report.cells[0].classes}
    for fraction, draws in shown:
        lack = f"not shown by every draw of {100 * fraction:g} %" if fraction else "no concept, so AUC ½"
        if names := sorted(scored & {name for names in draws for name in names}):
            yield lack, ", ".join(names)


def remarks(report: Report) -> list[str]:
    """What a user should know before believing the numbers."""
    records, leak, task = report.records, report.leak, report.task
    lines = []
    if leak and leak.records:
        seen = _first((*leak.same_record, *leak.same_patient, *leak.same_signal))
        lines.append(
            f"{task}: the encoder was pretrained on {leak.records} of the {records.val} val "
            f"and {records.test} test records or on their patients: {seen}"
        )
    if records.missing:
        lines.append(f"{task}: listed but not on disk ({len(records.missing)}): {_first(records.missing)}")
    if records.unreadable:
        reasons = [f"{record} ({reason})" for record, reason in records.unreadable.items()]
        lines.append(f"{task}: can't be used ({len(reasons)}): {_first(reasons)}")
    return lines


def _first(names: Sequence[str], at_most: int = 5) -> str:
    rest = ", … (all in --format json)" if len(names) > at_most else ""
    return ", ".join(names[:at_most]) + rest
