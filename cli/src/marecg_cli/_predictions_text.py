"""Print predictions, counts of embedded records, and records that can't be read.

The argument `form` is the output format: `text` or `json`.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import typer

from ecg_base import printable
from marecg_cli._output import EXIT_FINDINGS, message, problem, result, result_json, say_first

MAX_PROBLEMS = 5
"""Maximum number of records that a list of problems contains."""
MAX_NEIGHBOURS = 4
"""Maximum number of neighbours per concept in the text output. JSON contains all neighbours."""


def print_nearest(reader: Any, q_N: Any, top: int, answers: Any, risk: float, form: str) -> None:
    """Print the concepts nearest to a record, then untrained concepts, then the answers.

    An untrained concept had no training record, so the share of its family is printed. Answers are findings
    whose risk of error is calibrated.

    Args:
        reader: model that predicts concepts.
        q_N: share of each concept.
        top: number of nearest concepts.
        answers: calibrated answers of the model, or None.
        risk: maximum share of wrong answers.
        form: `text` or `json`.
    """
    from marecg.use.predict import nearest, untaught_leaves

    concepts = nearest(reader, q_N, top)
    printed = {concept.index for concept in concepts}
    untaught = [leaf for leaf in untaught_leaves(reader, q_N) if leaf.index not in printed]
    answered = {} if answers is None else dict(answers.select(reader.ontology, q_N[None], risk)[0])
    if form == "json":
        printed |= {leaf.index for leaf in untaught}
        all_concepts = nearest(reader, q_N, len(q_N))
        also = [concept for concept in all_concepts if concept.index in {*answered} - printed]
        lines = [*concepts, *untaught, *also]
        result_json([asdict(concept) | {"answer": answered.get(concept.index)} for concept in lines])
        return
    names = [c.label if c.label == c.abbr else f"{c.label} ({c.abbr})" for c in concepts]
    for concept, name in zip(concepts, names, strict=True):
        result(printable(f"{concept.share:6.1%}  {name:<{max(map(len, names))}}  {_around(concept)}"))
    for leaf in untaught:
        family = reader.ontology.nodes[reader.ontology.families[leaf.index]].label
        by_family = f"{leaf.by_family:6.1%}  {leaf.label} ({leaf.abbr})"
        result(printable(f"{by_family}: share of its family {family}, because no training record had it"))
    for index, probability in answered.items():
        node = reader.ontology.nodes[index]
        finding = f"{node.label}, without saying which finding" if node.root else node.label
        certainty = f"probability {probability:.0%}"
        result(printable(f"at a {risk:.0%} risk of error: {finding} ({node.abbr}), {certainty}"))
    if answers is not None and not answered:
        result(f"No finding can be reported at a {risk:.0%} risk of error.")
    message(
        "Shares show which concepts of the graph the record is nearest to. They aren't probabilities, and "
        "they aren't a diagnosis."
    )


def _around(concept: Any) -> str:
    """Return a concept's neighbours in the graph as text, with a note if the concept is untrained."""
    neighbours = [f"{other.relation} {other.abbr} {other.share:.1%}" for other in concept.neighbours]
    around = " · ".join(neighbours[:MAX_NEIGHBOURS])
    if len(neighbours) > MAX_NEIGHBOURS:
        around += f" · {len(neighbours) - MAX_NEIGHBOURS} more"
    if concept.support == 0:
        mass = "" if concept.by_family is None else f", its family has {concept.by_family:.1%}"
        around += f"  (no training record had it{mass})"
    return around


def print_table(table: Any, done: Any, form: str) -> None:
    """Print a data frame of predictions. If `done` lists records that failed, exit with code 1."""
    from marecg.use.predict import as_csv

    tell_problems("not predicted", done.failed, done.doubtful)
    if form == "json":
        result_json(table.astype(object).where(table.notna(), None).to_dict("records"))
    else:
        result(as_csv(table).rstrip("\n"))
    if done.failed:
        raise typer.Exit(EXIT_FINDINGS)


def print_steps(steps: dict[float, list[Any]], form: str) -> None:
    """Print the nearest concepts of each part of a recording, by the start of the part in seconds."""
    if form == "json":
        result_json(
            [
                {"start": start, "concepts": [asdict(concept) for concept in concepts]}
                for start, concepts in steps.items()
            ]
        )
        return
    for start, concepts in steps.items():
        minutes, seconds = divmod(round(start), 60)
        shares = " · ".join(f"{concept.abbr} {concept.share:.1%}" for concept in concepts)
        result(printable(f"{minutes // 60:3}:{minutes % 60:02}:{seconds:02}  {shares}"))


def print_calls(classifier: Any, probabilities: Any, form: str) -> None:
    """Print the probabilities of a classifier for a record, the most probable class first."""
    called = classifier.calls(probabilities.to_numpy(float)[None])[0].tolist()
    thresholds = classifier.thresholds_.tolist() if classifier.several_ else [None] * len(called)
    columns = classifier.classes_.tolist(), probabilities.tolist(), thresholds, called
    keys = ("name", "probability", "threshold", "called")
    calls = [dict(zip(keys, cells, strict=True)) for cells in zip(*columns, strict=True)]
    calls.sort(key=lambda call: -call["probability"])
    if form == "json":
        result_json(calls)
        return
    width = 1 + max(len(str(call["name"])) for call in calls)
    for call in calls:
        note = " (called: most probable)" if call["called"] else ""
        if call["threshold"] is not None:
            side = "called: at or above" if call["called"] else "below"
            note = f" ({side} its threshold, {100 * call['threshold']:.1f} %)"
        probability, name = f"{100 * call['probability']:.1f} %", f"{printable(str(call['name']))}:"
        result(f"{name:<{width}} {probability:>7}{note}")


def tell_embedded(out: str, done: dict[str, Any], form: str, verb: str = "embedded") -> None:
    """Print the number of records in `out`. If `done` lists records that failed, exit with code 1.

    `verb` is what was done with the records. Failed records are printed as "not `verb`".
    """
    tell_problems(f"not {verb}", done["failed"], done["doubtful"])
    if form == "json":
        result_json({"out": out, **done, "unavailable": sorted(done["unavailable"])})
    else:
        result(f"{done['records']:,} records in {out}")
    if done["failed"]:
        raise typer.Exit(EXIT_FINDINGS)


def tell_problems(what: str, failed: Mapping[str, str], doubtful: Mapping[str, str]) -> None:
    """Print the records that can't be read, with the prefix `what`, and the records with doubtful units."""
    doubts = [f"{name}: {doubt}" for name, doubt in doubtful.items()]
    for prefix, lines in ((what, failed.values()), ("check", doubts)):
        say_first(prefix, lines, "(--format json lists all)", problem, MAX_PROBLEMS)
