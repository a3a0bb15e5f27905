"""Write the browse page, an HTML page with search, tree, and the details of every concept.

The page needs no network and no server. All content is readable without scripts, only the search needs the
script. All text is escaped. The content security policy of the page allows only its own style and script.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from html import escape
from importlib.util import find_spec
from pathlib import Path

from ecg_base import refuse_unmarked, write_text
from ecg_ontology.base.text_folding import fold
from ecg_ontology.graph.concepts import Concept, Name
from ecg_ontology.graph.drafts import Erratum
from ecg_ontology.graph.hierarchy import branches
from ecg_ontology.graph.routing import PROFILES
from ecg_ontology.ontology import Ontology
from ecg_ontology.views.browse_codes import code_items, other_items, tag
from ecg_ontology.views.draw import graph_figure
from ecg_ontology.views.figures import inline_svg
from ecg_ontology.views.languages import label_in, language_notes
from ecg_ontology.views.search import Field, searchable_texts

MARK = "<!doctype html>\n<!-- written by ecgonto -->\n"
"""Start of a page. Only files that start like this may be replaced."""
MAX_DRAWN = 500
"""Maximum number of concepts on a page with a picture."""
_HERE = Path(__file__).parent
_GLOSSARY = {
    "family": "a root of the graph: a group of findings. Records are never labelled with a family alone",
    "finding": "a leaf of the graph. Records are labelled with findings",
    "index": "the number of a concept in the frozen enumeration. It never changes within a major version",
    "subtype of": "is a kind of. For example, anterior MI is an MI",
    "manifestation of": "is a sign of, but not a kind of. For example, ST elevation is a sign of ischaemia",
    "sibling": "a concept of the same family that is opposite or often occurs together",
    "exactMatch": "code and concept have the same meaning",
    "closeMatch": "the code is another name of the concept in ECG reports",
    "broadMatch": "the concept is wider than the code",
    "narrowMatch": "the code is wider than the concept",
    "relatedMatch": "the code is a sign or a cause of the concept, or overlaps with it",
    "profile": "paper: four codes as the paper prints them. curated: the curators decided disputed codes",
}
NAMES = "Other names"
OTHERS = "Codes of other systems, not used as labels"
_CODE = re.compile(r"\b[1-9][0-9]{5,17}\b")
_WORD = re.compile(r"\w+")


def write_page(onto: Ontology, out: str | Path, language: str = "en") -> Path:
    """Write the page of an ontology to an .html file, and return its path.

    The page contains the routes of the profiles ``paper`` and ``curated``, and initially shows the profile of
    `onto`. Labels are in `language`, or in English if the translation is missing. Raises `UsageError` if the
    path exists and isn't a browse page. Raises `OutputError` if the file can't be written.
    """
    refuse_unmarked(Path(out), MARK.encode())
    write_text(out, page_text(onto, language))
    return Path(out)


def page_text(onto: Ontology, language: str = "en") -> str:
    """Return the page as HTML."""
    style = (_HERE / "browse.css").read_text(encoding="utf-8")
    script = (_HERE / "browse.js").read_text(encoding="utf-8")
    allowed = f"style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    title = escape(onto.header.title or onto.header.iri)
    codes = code_items(onto)
    return (
        f'{MARK}<html lang="{escape(language)}"><head><meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        f"content=\"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{style}</style></head>\n"
        f'<body data-shown="{onto.profile}">\n'
        '<a class="skip" href="#concepts">Skip to the concepts</a>\n'
        f"{_header(onto, title, language)}"
        f'<div class="columns">\n{_navigation(onto, language)}<main id="concepts">\n'
        f"{''.join(_articles(onto, language, codes))}{_unrouted(codes.get(None, ()))}"
        f"{_errata(onto.draft.errata)}{_glossary()}</main>\n</div>\n"
        f'<script type="application/json" id="texts">{_json(_search_index(onto))}</script>\n'
        f"<script>{script}</script>\n</body></html>\n"
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _json(value: object) -> str:
    """Return JSON for a script element, escaped so that it can't end the element or start a comment."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _search_index(onto: Ontology) -> list[list[str]]:
    """Return an entry for every searchable text: page element, folded text, kind of text, original text.

    Equally good hits of a search are listed in this order.
    """
    order = list(Field)
    texts = sorted(
        searchable_texts(onto),
        key=lambda entry: (order.index(entry[1].field), isinstance(entry[0], str), entry[0]),
    )
    return [
        [
            f"c-{index}" if isinstance(index, int) else "unrouted",
            fold(match.text),
            f"{match.field} {match.code}" if match.field is Field.code_label else match.field.value,
            match.text,
        ]
        for index, match in texts
    ]


def _header(onto: Ontology, title: str, language: str) -> str:
    facts = (
        f"version {onto.header.version}, profile {onto.profile}: {len(onto)} concepts, "
        f"{len(onto.relations)} relations, {len(onto.codes)} codes, sha256 {onto.sha256[:12]}"
    )
    all_notes = () if language == "en" else language_notes(onto, onto.nodes, language)
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in all_notes)
    options = "".join(f"<option{' selected' * (p == onto.profile)}>{p}</option>" for p in PROFILES)
    switch = f'<label id="switch" hidden>Profile <select id="profile">{options}</select></label>'
    picture = f'<details id="graph"><summary>The graph</summary>{_graph(onto)}</details>'
    return f"<header><h1>{title}</h1><p>{escape(facts)}</p>{notes}{switch}{picture}</header>\n"


def _graph(onto: Ontology) -> str:
    """Return a picture with nodes that link to their concepts, or a note if it can't be drawn."""
    if len(onto) > MAX_DRAWN:
        problem = f"A picture of {len(onto)} concepts would be unreadable"
        return f"<p>{problem}. ecgonto export graph.svg writes it nevertheless</p>"
    if find_spec("matplotlib") is None:
        return "<p>The picture needs matplotlib: pip install &quot;ecg-ontology[draw]&quot;</p>"
    return inline_svg(graph_figure(onto, links="#c-{}"), f"{onto.header.title}: {len(onto)} concepts")


def _navigation(onto: Ontology, language: str) -> str:
    return (
        '<nav aria-label="Search and tree"><form role="search" id="search" hidden>'
        '<label for="words">Search <kbd>/</kbd></label>'
        '<input id="words" type="search" autocomplete="off" spellcheck="false" '
        'placeholder="label, synonym, code …" aria-controls="hits">'
        '<p id="summary" role="status" aria-live="polite"></p></form>\n<ul id="hits"></ul>\n'
        f'<details id="tree" open><summary>Tree</summary>{_tree(onto, language)}</details></nav>\n'
    )


def _tree(onto: Ontology, language: str) -> str:
    lines, depth = ["<ul>"], 0
    for number, branch in enumerate(branches(onto.nodes, onto.relations, onto.roots)):
        if branch.depth > depth:
            lines.append("<ul>")
        elif number:
            lines.append("</li>" + "</ul></li>" * (depth - branch.depth))
        depth = branch.depth
        lines.append(f"<li>{_link(branch.concept, language)}")
    return "".join((*lines, "</li></ul>" * (depth + 1) if len(lines) > 1 else "</ul>"))


def _link(concept: Concept, language: str) -> str:
    return f'<a href="#c-{concept.index}">{_title(concept, label_in(concept, language))}</a>'


def _title(concept: Concept, name: Name) -> str:
    """Return the abbreviation and the label, or only the label if both are equal."""
    label = f'<span lang="{escape(name.language)}">{escape(name.text)}</span>'
    return f"<b>{label}</b>" if name.text == concept.abbr else f"<b>{escape(concept.abbr)}</b> {label}"


def _articles(onto: Ontology, language: str, codes: Mapping[int | None, list[str]]) -> Iterator[str]:
    """Yield the HTML article of every concept in the order of the tree. Concepts without a root come last."""
    concerning = _errata_by_concept(onto)
    listed = {
        branch.concept.index: branch.concept for branch in branches(onto.nodes, onto.relations, onto.roots)
    }
    for node in {**listed, **{node.index: node for node in onto.nodes}}.values():
        yield _article(onto, node, language, codes.get(node.index, ()), concerning.get(node.index, ()))


def _article(
    onto: Ontology, node: Concept, language: str, codes: Iterable[str], concerning: Iterable[Erratum]
) -> str:
    name = label_in(node, language)
    english = Name(text=node.label, language="en")
    names = [variant for variant in (english, *node.translations, *node.synonyms) if variant != name]
    neighbours = onto.neighbours(node.index)
    own_codes = "Codes that reach only the family" if node.root else "Codes"
    parts = (
        ("Relations", [f"<li>{escape(how)}: {_link(other, language)}</li>" for other, how in neighbours]),
        (NAMES, [f'<li lang="{escape(n.language)}">{escape(n.text)}{tag(n.language)}</li>' for n in names]),
        ("Text variants", [f"<li>{escape(text)}</li>" for text in node.variants]),
        (own_codes, list(codes)),
        (OTHERS, other_items(onto, node.index)),
        (
            "Errata",
            [
                f'<li><a href="#e-{escape(e.id)}">{escape(e.id)}</a> {escape(e.printed)}</li>'
                for e in concerning
            ],
        ),
    )
    classes = {own_codes: " class=wide", OTHERS: ' class="wide row others"', NAMES: " class=row"}
    sections = "".join(
        f"<section{classes.get(title, '')}><h3>{title}</h3><ul>{''.join(items)}</ul></section>"
        for title, items in parts
        if items
    )
    contents = " · ".join(f"{title} ({len(items)})" for title, items in parts if items)
    tier = "family" if node.root else "finding"
    return (
        f'<article id="c-{node.index}" tabindex="-1"><h2>{_title(node, name)}</h2>'
        f'<p class="facts">{tier}, index {node.index} · {escape(node.iri)}</p>{_definition(node)}'
        f'<details><summary>{contents}</summary><div class="parts">{sections}</div></details></article>\n'
    )


def _definition(node: Concept) -> str:
    """Return the definition of a concept with its sources. Only https addresses become links."""
    links = ", ".join(map(_source_link, node.sources))
    sources = f" <small>{links}</small>" if links else ""
    return f"<p>{escape(node.definition)}{sources}</p>" if node.definition else ""


def _source_link(iri: str) -> str:
    text = escape(iri)
    return f'<a href="{text}">{text.removeprefix("https://")}</a>' if iri.startswith("https://") else text


def _errata_by_concept(onto: Ontology) -> dict[int, list[Erratum]]:
    """Return the errata that mention each concept by its abbreviation, its label or one of its codes."""
    errata: dict[int, list[Erratum]] = {}
    for entry in onto.draft.errata:
        text = f"{entry.printed} {entry.found} {entry.decision}"
        coded = {index for code in _CODE.findall(text) for index in onto.route(code).nodes}
        words, folded = set(_WORD.findall(text)), f" {fold(text)} "
        for node in onto.nodes:
            if node.index in coded or node.abbr in words or f" {fold(node.label)} " in folded:
                errata.setdefault(node.index, []).append(entry)
    return errata


def _unrouted(items: Iterable[str]) -> str:
    listed = list(items)
    head = '<article id="unrouted" tabindex="-1"><h2>Codes without a concept</h2>'
    summary = f"<details><summary>Codes ({len(listed)})</summary>"
    return f"{head}{summary}<ul>{''.join(listed)}</ul></details></article>\n" if listed else ""


def _glossary() -> str:
    entries = "".join(f"<dt>{word}</dt><dd>{meaning}</dd>" for word, meaning in _GLOSSARY.items())
    return f'<article id="glossary" tabindex="-1"><h2>Glossary</h2><dl>{entries}</dl></article>\n'


def _erratum(entry: Erratum) -> str:
    parts = {"printed": entry.printed, "found": entry.found, "decided": entry.decision}
    terms = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in parts.items())
    title = f"<b>{escape(entry.id)}</b> {escape(entry.source)}"
    return f'<li id="e-{escape(entry.id)}">{title}<dl>{terms}</dl></li>'


def _errata(errata: Iterable[Erratum]) -> str:
    items = [_erratum(entry) for entry in errata]
    head = '<article id="errata" tabindex="-1"><h2>Errata</h2>'
    summary = f"<details><summary>Entries ({len(items)})</summary>"
    return f"{head}{summary}<ul>{''.join(items)}</ul></details></article>\n" if items else ""
