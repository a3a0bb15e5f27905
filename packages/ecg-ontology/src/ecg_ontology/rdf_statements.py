"""What an RDF file states of each subject, taken value by value; what nobody takes is kept as it is."""

import re
from collections import defaultdict
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Self

import rdflib
from rdflib.compare import to_canonical_graph
from rdflib.namespace import DCTERMS, OWL, RDFS, SKOS

from ecg_ontology.drafts import Draft, ForeignStatement, Misstatement
from ecg_ontology.files import read_text
from ecg_ontology.rdf_writer import Triple, derived, term
from ecg_ontology.turtle import SCHEMA

CCG = rdflib.Namespace(SCHEMA)
ENGLISH = "en"
Node = rdflib.term.Node
Values = dict[Node, list[Node]]
"""What is stated of one subject: objects by predicate."""
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_PREFIXES = {"ccg": CCG, "skos": SKOS, "owl": OWL, "dcterms": DCTERMS, "rdfs": RDFS}


def is_text(value: Node) -> bool:
    """Whether it is a literal."""
    return isinstance(value, rdflib.Literal)


def language_of(value: Node) -> str:
    """The language of a text, empty where it has none."""
    return (value.language or "") if isinstance(value, rdflib.Literal) else ""


def is_english(value: Node) -> bool:
    """Whether it is a text in English, or in no language."""
    return not is_text(value) or language_of(value).casefold().partition("-")[0] in ("", ENGLISH)


def _short(predicate: Node) -> str:
    """A predicate as messages name it."""
    for prefix, namespace in _PREFIXES.items():
        if str(predicate).startswith(str(namespace)):
            return f"{prefix}:{str(predicate).removeprefix(str(namespace))}"
    return f"<{predicate}>"


class Triples(rdflib.Graph):
    """Triples as they are read, each once; rdflib's stores index them three times."""

    def __init__(self) -> None:
        super().__init__(store="SimpleMemory")  # of the prefixes alone
        self._triples: dict[Triple, None] = {}

    def add(self, triple: Triple) -> Self:
        """Take one."""
        self._triples[triple] = None
        return self

    def __iter__(self) -> Generator[Triple, None, None]:
        yield from self._triples

    def __contains__(self, triple: object) -> bool:
        return triple in self._triples


class SourceLines:
    """Where a Turtle file states something. RDF parsers keep no lines, so its layout is searched for them."""

    def __init__(self, path: Path) -> None:
        self._name = path.name
        self._lines: dict[tuple[str, str], int] = {}
        text = read_text(path) if path.suffix == ".ttl" else ""
        prefixes = dict(re.findall(r"(?m)^@prefix\s+([\w-]*):\s*<([^>]*)>", text))
        subject = ""
        for number, line in enumerate(text.split("\n"), start=1):
            if head := re.match(r"(?:<([^>]+)>|([\w-]*):([\w-]+))\s", line):
                iri, prefix, local = head.groups()
                subject = iri or prefixes.get(prefix, "") + local
                self._lines.setdefault((subject, ""), number)
            elif statement := re.match(r"\s+ccg:(\w+)\s", line):
                self._lines.setdefault((subject, statement[1]), number)

    def of(self, iri: str, predicate: str = "") -> str:
        """Return ``file:line`` of the statement, of its subject's entry, or the file alone."""
        number = self._lines.get((iri, predicate)) or self._lines.get((iri, ""))
        return f"{self._name}:{number}" if number else self._name


class Statements:
    """The statements of a file, while a draft is made of them.

    Args:
        graph: its triples.
        path: the file, for the lines of what it states.

    Attributes:
        subjects: the values of each subject by predicate; whoever understands one takes it out.
        leftover: what is to stand in the draft as it is.
        misstatements: what means nothing, or two things.
    """

    def __init__(self, graph: Triples, path: Path) -> None:
        self.graph = graph
        self.lines = SourceLines(path)
        self.leftover: list[Triple] = []
        self.misstatements: list[Misstatement] = []
        self.subjects: dict[Node, Values] = defaultdict(lambda: defaultdict(list))
        for subject, predicate, end in graph:
            self.subjects[subject][predicate].append(end)

    def one(self, subject: Node, values: Values, predicate: rdflib.URIRef) -> str:
        """The only value; of several the first in order of text, and a misstatement."""
        stated = values.pop(predicate, [])
        texts = sorted({str(value) for value in stated})
        if len(texts) > 1:
            problem = f"has {len(texts)} values of {_short(predicate)}: {', '.join(texts)}"
            self.misstate(subject, problem, predicate)
        self.keep(subject, predicate, (value for value in stated if language_of(value)))
        return texts[0] if texts else ""

    def english(self, subject: Node, values: Values, predicate: rdflib.URIRef) -> str:
        """The English text, else one without a language; two of one language are a misstatement."""
        by_language: dict[str, list[str]] = defaultdict(list)
        texts = values.pop(predicate, [])
        for value in filter(is_text, texts):
            by_language[language_of(value).casefold()].append(str(value))
        for language, of_language in sorted(by_language.items()):
            if len(set(of_language)) > 1:
                in_language = f" in {language!r}" if language else ""
                listed = ", ".join(map(repr, sorted(of_language)))
                problem = f"has {len(of_language)} values of {_short(predicate)}{in_language}: {listed}"
                self.misstate(subject, problem, predicate)
        english = sorted(tag for tag in by_language if tag.partition("-")[0] == ENGLISH)
        label = next((min(by_language[tag]) for tag in (*english, "") if tag in by_language), "")
        translated = predicate == SKOS.prefLabel
        held = {rdflib.Literal(label, lang=ENGLISH)} | {v for v in texts if translated and not is_english(v)}
        self.keep(subject, predicate, (value for value in texts if value not in held))
        return label

    def texts(
        self, subject: Node, values: Values, predicate: rdflib.URIRef, language: str
    ) -> tuple[str, ...]:
        """All values as text; those of another language than `language` are kept with theirs as well."""
        stated = values.pop(predicate, [])
        self.keep(subject, predicate, (v for v in stated if not is_text(v) or language_of(v) != language))
        return tuple(sorted(str(value) for value in stated))

    def definition(self, subject: Node, values: Values) -> str:
        """The first English definition in order of text; others, in whatever language, are kept."""
        stated = values.pop(SKOS.definition, [])
        first = min((str(value) for value in stated if is_text(value) and is_english(value)), default="")
        self.keep(subject, SKOS.definition, (v for v in stated if v != rdflib.Literal(first, lang=ENGLISH)))
        return first

    def sources(self, subject: Node, values: Values) -> tuple[str, ...]:
        """The documents that are named by an IRI; others are kept."""
        stated = values.pop(DCTERMS.source, [])
        self.keep(subject, DCTERMS.source, (v for v in stated if not isinstance(v, rdflib.URIRef)))
        return tuple(sorted(str(value) for value in stated if isinstance(value, rdflib.URIRef)))

    def boolean(self, subject: Node, values: Values, predicate: rdflib.URIRef) -> bool:
        """Whether the only value is true; no value is false, and any other word a misstatement."""
        stated = {str(value) for value in values.pop(predicate, ())}
        if strange := sorted(stated - _BOOLEANS.keys()):
            self.misstate(subject, f"has {_short(predicate)} {strange[0]!r}, not true or false", predicate)
        booleans = {_BOOLEANS[text] for text in stated & _BOOLEANS.keys()}
        if len(booleans) > 1:
            self.misstate(subject, f"has {_short(predicate)} true and false", predicate)
        return True in booleans

    def take(self, values: Values, predicate: Node, value: Node) -> bool:
        """Take one value out; whether it was there."""
        there = value in values.get(predicate, ())
        if there:
            values[predicate].remove(value)
        return there

    def keep(self, subject: Node, predicate: Node, values: Iterable[Node]) -> None:
        """Keep values as they are."""
        self.leftover += [(subject, predicate, value) for value in values]

    def rest(self, subject: Node, values: Values) -> None:
        """Keep what no field took; a word of our namespace among it is misspelt or misplaced."""
        for predicate, ends in values.items():
            if str(predicate).startswith(SCHEMA):
                problem = f"states {_short(predicate)}, which means nothing there"
                self.misstate(subject, problem, predicate)
            self.keep(subject, predicate, ends)

    def misstate(self, subject: Node, problem: str, predicate: Node | None = None) -> None:
        """Note a problem, with the line of the statement that has it."""
        word = str(predicate or "").removeprefix(SCHEMA)
        place = self.lines.of(str(subject), word)
        self.misstatements.append(Misstatement(subject=str(subject), problem=problem, place=place))

    def left(self, draft: Draft) -> tuple[ForeignStatement, ...]:
        """What was kept and does not follow from the draft, in a fixed order."""
        implied = derived(draft) if self.leftover else set[Triple]()
        rest = [triple for triple in self.leftover if triple not in implied]
        # A text kept in its own language is not written in ours; if it is stated in both, both are kept.
        for subject, predicate, end in rest.copy():
            for language in (None, ENGLISH) if is_text(end) else ():
                twin = (subject, predicate, rdflib.Literal(str(end), lang=language))
                rest += [twin] if twin in self.graph else []
        if any(isinstance(node, rdflib.BNode) for triple in rest for node in triple):
            graph = rdflib.Graph()  # the same names for nodes without one, however the file was read
            graph += rest
            rest = list(to_canonical_graph(graph))
        statements = {
            ForeignStatement(subject=term(s), predicate=term(p), object=term(o)) for s, p, o in rest
        }
        return tuple(sorted(statements, key=lambda each: (each.subject, each.predicate, each.object)))
