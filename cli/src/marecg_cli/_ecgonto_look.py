"""Define the commands `ecgonto route`, `ecgonto show` and `ecgonto target`."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import ecg_ontology
from ecg_base import UsageError, printable
from marecg_cli._options import As, Profile
from marecg_cli._output import (
    EXIT_FINDINGS,
    json_text,
    message,
    problem,
    result,
    result_json,
    result_json_list,
    result_list,
)

if TYPE_CHECKING:
    from ecg_ontology import Concept, Ontology, Route
    from ecg_ontology.views.explain import Explanation

_MAX_UNKNOWN = 20
"""Maximum number of unknown codes in a message."""
Codes = Annotated[
    list[str],
    typer.Argument(metavar="CODE...", help="SNOMED CT codes, CURIEs such as scp:NORM, or - for stdin."),
]
Rule = Annotated[
    Literal["max-index", "most-specific"], typer.Option(help="Rule that selects the primary concept c*.")
]
Sigma = Annotated[float, typer.Option(help="Temperature σ of the soft target, in edges.")]
Source = Annotated[
    str | None,
    typer.Option(help="Folder of sources, or a .ttl, .owl, .nt or .json file. [default: the packaged graph]"),
]
Language = Annotated[str, typer.Option(metavar="LANGUAGE", help="Language of the labels, for example de.")]


def route(codes: Codes, profile: Profile = "paper", ontology: Source = None, form: As = "text") -> None:
    """Show the concepts that each code is routed to, and why.

    The exit code is 1 if a code is unknown or malformed.

    Example: ecgonto route 164889003 54329005 698252002 --format json
    """
    onto = ecg_ontology.load(ontology, profile)
    routes: dict[str, Route] = {}
    texts: dict[str, str] = {}

    def answers() -> Iterator[str]:
        """Yield the text to print for every code. A repeated code is looked up only once."""
        for code in _each_code(codes):
            if code not in texts:
                routes[code] = onto.route(code)
                as_json = form == "json"
                texts[code] = (
                    json_text(_as_json(onto, routes[code])) if as_json else _as_text(onto, routes[code])
                )
            yield texts[code]

    if form == "json":
        result_json_list(answers())
    else:
        result_list(answers())
    _exit_if_unknown(routes.values())


def show(
    node: Annotated[
        str | None,
        typer.Argument(help="Concept by index, abbreviation, label, synonym or code. [default: list all]"),
    ] = None,
    other: Annotated[
        str | None, typer.Argument(help="Second concept; prints the distance between both concepts.")
    ] = None,
    lang: Language = "en",
    profile: Profile = "paper",
    ontology: Source = None,
    tree: Annotated[
        bool,
        typer.Option(
            "--tree", help="Print all concepts as a tree, or the ancestors and descendants of NODE."
        ),
    ] = False,
    form: As = "text",
) -> None:
    """List all concepts, show a concept, or print the distance between two concepts.

    Example: ecgonto show "atrial fibrillation"

    Example: ecgonto show AntMI AMI

    Example: ecgonto show AMI --tree
    """
    onto = ecg_ontology.load(ontology, profile)
    if node is not None and other is not None:
        if tree:
            raise UsageError("--tree takes at most one concept")
        _show_distance(onto, node, other, form)
        return
    if tree:
        _show_tree(onto, None if node is None else ecg_ontology.find_concept(onto, node), lang, form)
        return
    if node is None:
        _show_all(onto, lang, form)
        return
    _show_concept(onto, ecg_ontology.find_concept(onto, node), lang, form)


def _show_all(onto: "Ontology", lang: str, form: str) -> None:
    if form == "json":
        result_json([concept.model_dump() for concept in onto.nodes])
    else:
        for concept in onto.nodes:
            result(f"{concept.index:>3}  {concept.abbr:<10}  {label_text(concept, lang)}")
    note_language(onto, onto.nodes, lang)


def _show_concept(onto: "Ontology", concept: "Concept", lang: str, form: str) -> None:
    neighbours = onto.neighbours(concept.index)
    codes = [code for code in onto.codes if concept.index in onto.route(code).nodes]
    crosswalks = [row for row in onto.draft.crosswalks if row.node == concept.iri]
    if form == "json":
        brief = {"index", "abbr", "label"}
        relations = [
            {"relation": relation, **neighbour.model_dump(include=brief)}
            for neighbour, relation in neighbours
        ]
        crosswalk = [row.model_dump(include={"code", "label", "predicate"}) for row in crosswalks]
        more = {"neighbours": relations, "codes": codes, "crosswalk": crosswalk}
        result_json({**concept.model_dump(), **more})
    else:
        label = label_text(concept, lang)
        result(f"{concept.abbr} ({concept.index})  {label}\n{concept.iri}")
        if concept.definition:
            result("\n".join((concept.definition, *(f"  {source}" for source in concept.sources))))
        for name in (*concept.translations, *concept.synonyms):
            result(f"  {name.text}" + (f" ({name.language})" if name.language else ""))
        result("\n".join(f"  “{text}”" for text in concept.variants))
        for neighbour, relation in neighbours:
            result(f"  {relation:<16} {neighbour.abbr} ({label_text(neighbour, lang)})")
        result("\n".join(f"  {code:<16} {onto.route(code).label}" for code in codes))
        for row in crosswalks:
            result(f"  {row.code:<16} {row.label}  ({row.predicate.removeprefix('skos:')})")
    note_language(onto, [concept], lang)


def _show_distance(onto: "Ontology", a: str, b: str, form: str) -> None:
    """Print the number of edges between two concepts, and a shortest path."""
    source, end = ecg_ontology.find_concept(onto, a), ecg_ontology.find_concept(onto, b)
    path = [onto.nodes[index].abbr for index in onto.graph.path(source.index, end.index)]
    edges = int(onto.distances[source.index, end.index])
    if form == "json":
        result_json({"distance": edges, "path": path})
    else:
        result(f"{edges}  {' – '.join(path) or 'by convention, because no path exists'}")


def _show_tree(onto: "Ontology", top: "Concept | None", lang: str, form: str) -> None:
    from ecg_ontology.graph.hierarchy import branches

    lines = list(branches(onto.nodes, onto.relations, onto.roots if top is None else (top.index,)))
    ancestors = () if top is None else onto.ancestors(top.index)
    if form == "json":
        rows = [
            {"depth": line.depth, "index": line.concept.index, "abbr": line.concept.abbr} for line in lines
        ]
        result_json({"ancestors": [concept.abbr for concept in ancestors], "tree": rows})
    else:
        if ancestors:
            result(f"ancestors: {', '.join(concept.abbr for concept in ancestors)}")
        for line in lines:
            label = label_text(line.concept, lang)
            again = "  (see above)" if line.again else ""
            result(f"{'  ' * line.depth}{line.concept.abbr}  {label}{again}")
    note_language(onto, [line.concept for line in lines], lang)


def target(
    codes: Codes,
    sigma: Sigma = 1.0,
    rule: Rule = "max-index",
    profile: Profile = "paper",
    ontology: Source = None,
    bars: Annotated[bool, typer.Option("--bars", help="Draw the target as bars in the terminal.")] = False,
    picture: Annotated[
        Path | None, typer.Option(help="Also draw the target on the graph: .svg, .png or .pdf.")
    ] = None,
    form: As = "text",
) -> None:
    """Show the leaves, the primary concept c* and the soft target of a record with these codes.

    The exit code is 1 if a code is unknown or malformed. JSON contains the target as a number per concept,
    and the route of each code.

    Example: ecgonto target 54329005 --sigma 1.0 --format json

    Example: ecgonto target 164889003 426783006 --bars --picture why.svg
    """
    from ecg_ontology.views.explain import explanation_text

    onto = ecg_ontology.load(ontology, profile)
    why = ecg_ontology.explain_codes(onto, list(_each_code(codes)), sigma, rule)
    if picture is not None:
        from ecg_ontology.views.draw import draw_graph

        draw_graph(onto, picture, why)
    if form == "json":
        result_json(_numbers(onto, why))
    else:
        result(explanation_text(onto, why, bars=bars))
    _exit_if_unknown(why.routes)


def _numbers(onto: "Ontology", why: "Explanation") -> dict[str, object]:
    index = {node.abbr: node.index for node in onto.nodes}
    mass = {part.index: part.mass for part in why.target}
    primary = why.primary[why.rule]
    return {
        "leaves": [index[abbr] for abbr in why.leaves],
        "primary": index.get(primary, -1),
        "target": [mass.get(node.index, 0.0) for node in onto.nodes],
        "names": why.leaves,
        "primary_name": primary,
        "rule": why.rule,
        "sigma": why.sigma,
        "primary_by_rule": why.primary,
        "rules_agree": why.rules_agree,
        "routes": [_as_json(onto, route) for route in why.routes],
    }


def _each_code(codes: list[str]) -> Iterator[str]:
    """Yield the codes. If the only code is ``-``, yield codes from stdin as soon as they arrive."""
    if codes != ["-"]:
        yield from codes
        return
    read = (code for line in sys.stdin for code in line.replace(",", " ").split())
    first = next(read, None)
    if first is None:
        raise UsageError("stdin has no codes", remedy="Separate codes by spaces or line breaks")
    yield first
    yield from read


def label_text(concept: "Concept", lang: str) -> str:
    """Return the label of a concept in a language, or in English if the label is missing."""
    from ecg_ontology.views.languages import label_in

    return label_in(concept, lang).text


def note_language(onto: "Ontology", concepts: "Sequence[Concept]", lang: str) -> None:
    """Print messages about labels that are missing or unreviewed in a language."""
    if lang != "en" and concepts:
        from ecg_ontology.views.languages import language_notes

        for note in language_notes(onto, concepts, lang):
            message(note)


def _as_json(onto: "Ontology", answer: "Route") -> dict[str, object]:
    fields = {"index", "abbr", "label", "root"}
    nodes = [onto.nodes[index].model_dump(include=fields) for index in answer.nodes]
    head = {name: getattr(answer, name) for name in ("code", "label", "status")}
    return {**head, "nodes": nodes, "leaves": answer.leaves, "notes": answer.notes}


def _as_text(onto: "Ontology", answer: "Route") -> str:
    names = ", ".join(f"{onto.nodes[index].abbr} ({index})" for index in answer.nodes)
    reached = names if answer.status is ecg_ontology.Status.routed else answer.status.value
    label = f"  {answer.label}" if answer.label else ""
    lines = (f"{answer.code}{label}  →  {reached}", *(f"    {note}" for note in answer.notes))
    return "\n".join(map(printable, lines))


def _exit_if_unknown(routes: "Iterable[Route]") -> None:
    """Exit with code 1 if a code is unknown or malformed, after a message with these codes."""
    statuses = {ecg_ontology.Status.unknown, ecg_ontology.Status.invalid}
    codes = list(dict.fromkeys(repr(route.code) for route in routes if route.status in statuses))
    if codes:
        more = f" and {len(codes) - _MAX_UNKNOWN} more" if len(codes) > _MAX_UNKNOWN else ""
        codes_text = f"{', '.join(codes[:_MAX_UNKNOWN])}{more}"
        problem(f"unknown or malformed: {codes_text}; `ecgonto search` finds codes by words")
        raise typer.Exit(EXIT_FINDINGS)
