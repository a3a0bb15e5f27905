"""OBO files as drafts; `ecg_ontology.formats.obo_text` writes them.

What OBO has no tag for stands as ``property_value`` under its full IRI, a text's language as the qualifier
``xml:lang``.
"""

import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ecg_base import refuse_pipe
from ecg_ontology.base.errors import SourceError
from ecg_ontology.base.reading import read_text
from ecg_ontology.formats.from_networkx import KINDS, draft_from_networkx
from ecg_ontology.formats.obo_text import LANGUAGE, OBO, PROPERTIES, SCOPES, STRING, TAGS
from ecg_ontology.formats.turtle import iri_text, literal_text, name_text
from ecg_ontology.graph.concepts import Name
from ecg_ontology.graph.drafts import Draft, DraftConcept, ForeignStatement

if TYPE_CHECKING:
    import networkx as nx

logger = logging.getLogger(__name__)
_TEXT = r'"((?:[^"\\]|\\.)*)"'
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\\.|\s[!{]|.', re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "W": " "}


def read_obo(path: Path) -> Draft:
    """Read an OBO file: terms are concepts, ``is_a`` the hierarchy, terms without a parent families.

    Other relations count where they are named as a `Kind` is. Obsolete terms are left out. Indices follow the
    order of the file, families first, unless they are stated. Comments, cross-references, alternative
    identifiers and synonyms that aren't exact are kept as statements. Raises `SourceError`.
    """
    refuse_pipe(path, error=SourceError)
    head, stanzas = _stanzas(path)
    iri = head.one("ontology") or path.stem
    iri = iri if re.match(r"https?://", iri) else f"{OBO}{quote(iri)}"
    bases = dict(space.split()[:2] for space, _ in head.tags["idspace"] if len(space.split()) > 1)
    terms: dict[str, _Stanza] = {}
    for stanza in stanzas:
        if not (term := stanza.one("id")):
            raise SourceError("isn't an OBO file: a [Term] has no id", where=path, remedy="Name every term")
        if terms.setdefault(term, stanza) is not stanza:
            raise SourceError(f"describes {term} twice", where=path, remedy="Merge the two [Term] stanzas")
        stanza.iri = _iri(term, bases)
    _leave_out_obsolete(terms, path)
    if not terms:
        raise SourceError("describes no concept", where=path, remedy="Give a file with [Term] stanzas")
    version = re.findall(r"\d+", head.one("data-version"))
    semver = ".".join(map(str, map(int, [*version, 0, 0, 0][:3])))
    draft = draft_from_networkx(_graph(terms, path), iri, version=semver)
    head.iri = iri
    header: dict[str, Any] = {name: head.texts(name) for name in ("creators", "provenance", "unreviewed")}
    header |= {name: texts[0] for name in ("title", "licence") if (texts := head.texts(name))}
    by_iri = {stanza.iri: stanza for stanza in terms.values()}
    return draft.model_copy(
        update={
            "header": draft.header.model_copy(update=header),
            "concepts": tuple(by_iri[concept.iri].completed(concept) for concept in draft.concepts),
            "statements": tuple(s for stanza in (head, *by_iri.values()) for s in stanza.statements()),
        }
    )


def _leave_out_obsolete(terms: "dict[str, _Stanza]", path: Path) -> None:
    """Remove obsolete terms, and say so; the term that replaces one has its identifier as a further one."""
    for term in [term for term, stanza in terms.items() if stanza.one("is_obsolete") == "true"]:
        successor = terms.pop(term).one("replaced_by")
        if successor in terms:
            terms[successor].tags["alt_id"].append((term, "en"))
        by = f", replaced by {successor}" if successor else ""
        logger.warning("%s: the obsolete term %s is left out%s", path.name, term, by)


def _stanzas(path: Path) -> tuple["_Stanza", list["_Stanza"]]:
    current = head = _Stanza()
    terms: list[_Stanza] = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        tag, colon, value = line.strip().partition(":")
        if tag.startswith("["):
            current = _Stanza()
            terms += [current] if tag == "[Term]" else []
        elif colon:
            current.tags[tag].append(_value(value.strip()))
        elif tag and not tag.startswith("!"):
            problem = f"isn't an OBO file: {line.strip()[:60]!r} is neither a stanza nor a tag with a value"
            remedy = "Give a file with [Term] stanzas"
            raise SourceError(problem, where=f"{path.name}:{number}", remedy=remedy)
    return head, terms


def _value(text: str) -> tuple[str, str]:
    """A value without its qualifiers and comment, and the language that a qualifier states, else English."""
    tokens = ((token[0], token.start()) for token in _TOKEN.finditer(text))
    end = next((place for token, place in tokens if re.fullmatch(r"\s[!{]", token)), len(text))
    language = re.search(rf'{LANGUAGE}="([^"]*)"', text[end:])
    return text[:end], language[1] if language else "en"


def _iri(term: str, bases: Mapping[str, str]) -> str:
    prefix, _, local = term.partition(":")
    if prefix in bases:
        return bases[prefix] + local
    return term if re.match(r"https?://", term) else OBO + quote(term.replace(":", "_"), safe="")


class _Stanza:
    """What one stanza states: the values of each tag, with their languages."""

    def __init__(self) -> None:
        self.iri = ""
        self.tags: dict[str, list[tuple[str, str]]] = defaultdict(list)

    def one(self, tag: str) -> str:
        return next((value for value, _ in self.tags[tag]), "")

    @cached_property
    def properties(self) -> list[tuple[str, str, str, str]]:
        """Predicate, text, language and type of each ``property_value``; an IRI has the type ``""``."""
        stated = []
        for value, language in self.tags["property_value"]:
            if literal := re.fullmatch(rf"(\S+) {_TEXT}(?: (\S+))?", value):
                stated.append((literal[1], _plain(literal[2]), language, literal[3] or STRING))
            elif len(parts := value.split(maxsplit=1)) > 1:
                stated.append((parts[0], parts[1], "", ""))
        return stated

    def texts(self, field: str) -> tuple[str, ...]:
        return tuple(sorted(text for p, text, *_ in self.properties if p == PROPERTIES[field]))

    def names(self, field: str) -> set[Name]:
        stated = (value for value in self.properties if value[0] == PROPERTIES[field])
        return {Name(text=text, language=language) for _, text, language, _ in stated}

    def synonyms(self) -> Iterator[tuple[str, Name]]:
        """Scope and text of each synonym."""
        for value, language in self.tags["synonym"]:
            if match := re.match(rf"{_TEXT}\s*(\w*)", value):
                yield match[2] or "RELATED", Name(text=_plain(match[1]), language=language)

    def completed(self, concept: DraftConcept) -> DraftConcept:
        """The concept with everything that it has a field for."""
        definition = re.match(rf"{_TEXT}\s*(?:\[(.*)\])?", self.one("def"))
        cited = re.split(r"(?<!\\),\s*", definition[2] or "") if definition else ()
        exact = {name for scope, name in self.synonyms() if scope == "EXACT"}
        return concept.model_copy(
            update={
                "definition": _plain(definition[1]) if definition else "",
                "sources": tuple(sorted(_plain(source).split()[0] for source in cited if source.strip())),
                "synonyms": _sorted(exact),
                "translations": _sorted(self.names("translations")),
                "yields": "true" in self.texts("yields"),
                "deprecated": "true" in self.texts("deprecated"),
                "either_parent": "true" in self.texts("either_parent"),
            }
        )

    def statements(self) -> Iterator[ForeignStatement]:
        """What no field holds."""
        subject = iri_text(self.iri)
        ends = [
            (predicate, literal_text(_plain(value)))
            for predicate, tag in TAGS.items()
            for value, _ in self.tags[tag]
        ]
        ends += [(SCOPES[scope], name_text(name)) for scope, name in self.synonyms() if scope in SCOPES]
        for predicate, text, language, type_ in self.properties:
            if predicate not in PROPERTIES.values():
                end = name_text(Name(text=text, language=language))
                end = end if type_ == STRING else f"{literal_text(text)}^^{iri_text(type_)}"
                ends.append((predicate, end if type_ else iri_text(text)))
        for predicate, end in ends:
            yield ForeignStatement(subject=subject, predicate=iri_text(predicate), object=end)


def _plain(text: str) -> str:
    """A text without the escapes of OBO."""
    return re.sub(r"\\(.)", lambda match: _ESCAPED.get(match[1], match[1]), text)


def _sorted(names: Iterable[Name]) -> tuple[Name, ...]:
    return tuple(sorted(names, key=lambda name: (name.language, name.text)))


def _graph(terms: Mapping[str, _Stanza], path: Path) -> "nx.MultiDiGraph[Any]":
    import networkx as nx

    graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
    for term, stanza in terms.items():
        extra: dict[str, Any] = {"abbr": next(iter(stanza.texts("abbr")), term)}
        if (index := "".join(stanza.texts("index"))).isdecimal():
            extra["index"] = int(index)
        graph.add_node(
            term, iri=stanza.iri, label=_plain(stanza.one("name")), variants=stanza.texts("variants"), **extra
        )
    for term, stanza in terms.items():
        stated = [(value.split()[0], value.split()[-1]) for value, _ in stanza.tags["relationship"] if value]
        if "true" not in stanza.texts("either_parent"):  # else its is_a ends where its parents meet
            stated += [("is_a", value) for value, _ in stanza.tags["is_a"]]
        for relation, end in stated:
            kind = relation if relation == "is_a" else relation.replace("_", "")
            if kind == "is_a" or kind.casefold() in KINDS:
                if end not in terms:
                    problem = f"names {end}, which isn't a term of the file (in {term})"
                    raise SourceError(problem, where=path, remedy="Merge the imported terms into the file")
                graph.add_edge(term, end, kind=kind)
    return graph
