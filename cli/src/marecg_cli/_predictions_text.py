"""Printed predictions and embeddings: of one record, of many, and what could not be read."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import typer

from ecg_base import printable
from marecg_cli._output import EXIT_FINDINGS, message, problem, result, result_json, say_first

SHOWN = 5
"""Problems that are named one by one; of more there is the number."""
BESIDE = 4
"""Neighbours that are printed for each concept; JSON has all."""


def print_nearest(reader: Any, q_N: Any, top: int, answers: Any, risk: float, form: str) -> None:
    """Print what a record is nearest to, then what is judged by its family, then what can be told."""
    from marecg.use.predict import nearest, untaught_leaves

    concepts = nearest(reader, q_N, top)
    shown = {concept.index for concept in concepts}
    untaught = [leaf for leaf in untaught_leaves(reader, q_N) if leaf.index not in shown]
    answered = {} if answers is None else dict(answers.select(reader.ontology, q_N[None], risk)[0])
    if form == "json":
        shown |= {leaf.index for leaf in untaught}
        others = nearest(reader, q_N, len(q_N))
        also = [concept for concept in others if concept.index in {*answered} - shown]
        lines = [*concepts, *untaught, *also]
        result_json([asdict(concept) | {"told": answered.get(concept.index)} for concept in lines])
        return
    names = [c.label if c.label == c.abbr else f"{c.label} ({c.abbr})" for c in concepts]
    for concept, name in zip(concepts, names, strict=True):
        result(printable(f"{concept.share:6.1%}  {name:<{max(map(len, names))}}  {_around(concept)}"))
    for leaf in untaught:
        family = reader.ontology.nodes[reader.ontology.families[leaf.index]].label
        by_family = f"{leaf.by_family:6.1%}  {leaf.label} ({leaf.abbr})"
        result(printable(f"{by_family}: share of its family {family}, because no training record had it"))
    for at, probability in answered.items():
        node = reader.ontology.nodes[at]
        which = f"{node.label}, without saying which finding" if node.root else node.label
        certain = f"probability {probability:.0%}"
        result(printable(f"at a {risk:.0%} risk of error: {which} ({node.abbr}), {certain}"))
    if answers is not None and not answered:
        result(f"No finding can be reported at a {risk:.0%} risk of error.")
    message(
        "Shares show which concepts of the graph the record is nearest to. They aren't probabilities, and "
        "they aren't a diagnosis."
    )


def _around(concept: Any) -> str:
    """The nearest neighbours of a concept in the graph, and whether no record taught it."""
    near = [f"{other.relation} {other.abbr} {other.share:.1%}" for other in concept.neighbours]
    around = " · ".join(near[:BESIDE])
    if len(near) > BESIDE:
        around += f" · {len(near) - BESIDE} more"
    if concept.support == 0:
        mass = "" if concept.by_family is None else f", its family has {concept.by_family:.1%}"
        around += f"  (no training record had it{mass})"
    return around


def print_table(table: Any, done: Any, form: str) -> None:
    """Print what many records are nearest to; exit code 1 where one could not be read."""
    from marecg.use.predict import as_csv

    tell_problems("not predicted", done.failed, done.doubtful)
    if form == "json":
        result_json(table.astype(object).where(table.notna(), None).to_dict("records"))
    else:
        result(as_csv(table).rstrip("\n"))
    if done.failed:
        raise typer.Exit(EXIT_FINDINGS)


def print_steps(steps: dict[float, list[Any]], form: str) -> None:
    """Print what each step of a recording is nearest to."""
    if form == "json":
        lines = [{"start": at, "concepts": [asdict(one) for one in near]} for at, near in steps.items()]
        result_json(lines)
        return
    for start, near in steps.items():
        minutes, seconds = divmod(round(start), 60)
        shares = " · ".join(f"{concept.abbr} {concept.share:.1%}" for concept in near)
        result(printable(f"{minutes // 60:3}:{minutes % 60:02}:{seconds:02}  {shares}"))


def print_calls(classifier: Any, probabilities: Any, form: str) -> None:
    """Print what a classifier says of a record, the most probable class first."""
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
        how = " (called: the likeliest)" if call["called"] else ""
        if call["threshold"] is not None:
            side = "called: at or above" if call["called"] else "below"
            how = f" ({side} its threshold, {100 * call['threshold']:.1f} %)"
        probability, name = f"{100 * call['probability']:.1f} %", f"{printable(str(call['name']))}:"
        result(f"{name:<{width}} {probability:>7}{how}")


def tell_embedded(out: str, done: dict[str, Any], form: str, verb: str = "embedded") -> None:
    """Print the number of written records; exit code 1 where one could not be read."""
    tell_problems(f"not {verb}", done["failed"], done["doubtful"])
    if form == "json":
        result_json({"out": out, **done, "unavailable": sorted(done["unavailable"])})
    else:
        result(f"{done['records']:,} records in {out}")
    if done["failed"]:
        raise typer.Exit(EXIT_FINDINGS)


def tell_problems(what: str, failed: Mapping[str, str], doubtful: Mapping[str, str]) -> None:
    """Report records that could not be read, and doubtful units."""
    doubts = [f"{name}: {doubt}" for name, doubt in doubtful.items()]
    for kind, lines in ((what, failed.values()), ("check", doubts)):
        say_first(kind, lines, "(--format json names all)", problem, SHOWN)
