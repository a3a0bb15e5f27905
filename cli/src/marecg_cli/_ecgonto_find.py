"""Define the command `ecgonto search`."""

from typing import TYPE_CHECKING, Annotated

import typer

import ecg_ontology
from marecg_cli._ecgonto_look import Language, Source, label_text, note_language
from marecg_cli._options import As
from marecg_cli._output import EXIT_FINDINGS, problem, result, result_json

if TYPE_CHECKING:
    from ecg_ontology import Ontology
    from ecg_ontology.views.search import Hit

_MAX_MATCHES = 3
"""Maximum number of matches per concept in the text output. JSON contains all matches."""


def search(
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="Words, parts of words, or codes.")],
    lang: Language = "en",
    ontology: Source = None,
    form: As = "text",
) -> None:
    """Find concepts by label, synonym, text variant or code.

    Case, accents and hyphens are ignored. The exit code is 1 if nothing matches.

    Example: ecgonto search fibr
    """
    onto = ecg_ontology.load(ontology)
    hits = ecg_ontology.search_concepts(onto, " ".join(words))
    if form == "json":
        result_json([hit.model_dump(mode="json") for hit in hits])
    for hit in hits if form == "text" else ():
        result(_as_text(onto, hit, lang))
    note_language(onto, [hit.concept for hit in hits if hit.concept is not None], lang)
    if not hits:
        from ecg_ontology.views.search import suggestions

        similar = ", ".join(f"{c.abbr} ({c.label})" for c in suggestions(onto, " ".join(words)))
        problem(f"nothing matches {' '.join(words)!r}" + (f". Did you mean {similar}?" if similar else ""))
        raise typer.Exit(EXIT_FINDINGS)


def _as_text(onto: "Ontology", hit: "Hit", lang: str) -> str:
    if hit.concept is None:
        code = hit.matches[0].code
        route = onto.route(code)
        return "\n".join((f"{code}  {route.label}  ({route.status})", *(f"    {n}" for n in route.notes)))
    label = label_text(hit.concept, lang)
    lines = [f"{hit.concept.abbr} ({hit.concept.index})  {label}"]
    lines += [f"    {hit.concept.definition}"] if hit.concept.definition else []
    for match in hit.matches[:_MAX_MATCHES]:
        code = f" {match.code}" if match.code and match.code != match.text else ""
        language = f" ({match.language})" if match.language else ""
        lines.append(f"    {match.field}{code}: {match.text}{language}")
    if more := len(hit.matches) - _MAX_MATCHES:
        lines += [f"    and {more} more"] if more > 0 else []
    return "\n".join(lines)
