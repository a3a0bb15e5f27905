"""Search concepts by words: labels in all languages, synonyms, text variants, codes."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from operator import itemgetter

from ecg_ontology.base.errors import UnknownConceptError
from ecg_ontology.base.text_folding import fold, nearest
from ecg_ontology.graph.concepts import Concept, FrozenModel, Name, Status
from ecg_ontology.graph.routing import dotted
from ecg_ontology.ontology import Ontology


class Field(StrEnum):
    """Kind of a searchable text."""

    abbreviation = "abbreviation"
    label = "label"
    synonym = "synonym"
    variant = "text variant"
    code = "code"
    code_label = "label of code"


class Match(FrozenModel):
    """Text that matches a search.

    Attributes:
        field: kind of the text.
        text: the original text.
        code: the code, for codes and their labels.
        language: language of the text, or "".
    """

    field: Field
    text: str
    code: str = ""
    language: str = ""


class Hit(FrozenModel):
    """Concept with matching texts, or an unrouted code.

    Attributes:
        concept: the concept, or `None` for an unrouted code.
        matches: the matching texts, best first.
    """

    concept: Concept | None
    matches: tuple[Match, ...]


def search_concepts(onto: Ontology, words: str) -> tuple[Hit, ...]:
    """Return the concepts with a text that contains all words.

    Case, accents and hyphens are ignored. A code matches the leaves that it reaches, or its root if it
    reaches no leaf. The best hits come first: complete texts, then starts of words, then parts of words.

    Args:
        onto: ontology, loaded with the profile that routes the codes.
        words: words or codes to search for, or parts of them.

    Example:
        >>> import ecg_ontology
        >>> [hit.concept.abbr for hit in ecg_ontology.search_concepts(ecg_ontology.load(), "FIBR")][:1]
        ['AF']
    """
    query = fold(words)
    if not query:
        return ()
    matches_by_key: dict[int | str, list[tuple[int, int, Match]]] = {}
    order = list(Field)
    for key, match in searchable_texts(onto):
        if (fit := _fit(query, fold(match.text))) is not None:
            matches_by_key.setdefault(key, []).append((fit, order.index(match.field), match))
    hits = []
    for key, matches in matches_by_key.items():
        matches.sort(key=itemgetter(0, 1))
        concept = onto.nodes[key] if isinstance(key, int) else None
        hit = Hit(concept=concept, matches=tuple(match for *_, match in matches))
        hits.append(((matches[0][:2], concept is None, concept.index if concept else 0), hit))
    return tuple(hit for _, hit in sorted(hits, key=itemgetter(0)))


def searchable_texts(onto: Ontology) -> Iterator[tuple[int | str, Match]]:
    """Yield each searchable text, with the index of its concept, or with its code if it has no concept."""
    for node in onto.nodes:
        names = [(Field.abbreviation, Name(text=node.abbr)), (Field.label, Name(text=node.label))]
        names += [(Field.label, name) for name in node.translations]
        names += [(Field.synonym, name) for name in node.synonyms]
        names += [(Field.variant, Name(text=text)) for text in node.variants]
        for field, name in names:
            yield node.index, Match(field=field, text=name.text, language=name.language)
    for code in onto.codes:
        route = onto.route(code)
        keys: Iterable[int | str] = route.leaves or route.nodes or (code,)
        for key in keys:
            yield key, Match(field=Field.code, text=code, code=code)
            yield key, Match(field=Field.code_label, text=route.label, code=code)
            if short := onto.draft.abbreviations.get(code):
                yield key, Match(field=Field.code_label, text=short, code=code)
    index = {node.iri: node.index for node in onto.nodes}
    for row in onto.draft.crosswalks:  # without the labels, because ICD-10 labels often name two findings
        if row.node is not None:
            yield index[row.node], Match(field=Field.code, text=row.code, code=row.code)


def _fit(query: str, text: str) -> int | None:
    """Return 0 for the complete text, 1 for starts of words, 2 for parts of words, or `None`."""
    if query == text:
        return 0
    parts, words = text.split(), query.split()
    if all(any(part.startswith(word) for part in parts) for word in words):
        return 1
    return 2 if all(word in text for word in words) else None


def find_concept(onto: Ontology, name: int | str) -> Concept:
    """Return the concept with this index, abbreviation, label, synonym, text variant or code.

    Args:
        onto: ontology, loaded with the profile that routes the codes.
        name: index or text to look up.

    Raises:
        UnknownConceptError: no concept matches, or several concepts match. The message lists suggestions.

    Example:
        >>> import ecg_ontology
        >>> onto = ecg_ontology.load()
        >>> names = (5, "af", "atrial Fibrillation", "164889003")
        >>> {ecg_ontology.find_concept(onto, name).abbr for name in names}
        {'AF'}
    """
    try:
        return onto.node(name)
    except UnknownConceptError:
        query = fold(str(name))
    hits = search_concepts(onto, query)
    if not hits and (code := dotted(str(name).strip())):
        query = fold(code)
        hits = search_concepts(onto, query)
    exact = [hit.concept for hit in hits if hit.concept and query in _full_texts(hit.matches[0])]
    first = [c for c in exact if query in (fold(c.abbr), fold(c.label))] or exact
    if len(first) == 1:
        return first[0]
    problem = f"{'several concepts match' if first else 'no concept is called'} {str(name)[:60]!r}"
    raise UnknownConceptError(problem, remedy=_advice(onto, str(name), hits))


def _full_texts(match: Match) -> tuple[str, ...]:
    """Return the queries that match a text completely. Codes also match without their vocabulary."""
    local = (fold(match.text.rpartition(":")[2]),) if match.field is Field.code else ()
    return (fold(match.text), *local)


def _advice(onto: Ontology, name: str, hits: tuple[Hit, ...]) -> str:
    similar = [hit.concept for hit in hits if hit.concept is not None] or suggestions(onto, name)
    if similar:
        return "Did you mean " + ", ".join(f"{c.abbr} ({c.label})" for c in similar[:5]) + "?"
    if onto.route(name).status is Status.unrouted:
        return f"The code is known but routed to no concept: {'; '.join(onto.route(name).notes)}"
    return f"`ecgonto search` searches for words, `ecgonto show` lists the {len(onto)} concepts"


def suggestions(onto: Ontology, name: str) -> list[Concept]:
    """Return the concepts with an abbreviation, label or synonym similar to `name`."""
    texts: dict[str, Concept] = {}
    for node in onto.nodes:
        names = (name.text for name in (*node.translations, *node.synonyms))
        for text in (node.abbr, node.label, *names):
            texts.setdefault(text, node)
    return list({texts[text].index: texts[text] for text in nearest(name, texts, 5)}.values())
