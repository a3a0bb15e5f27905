"""Concepts whose words resemble the label of a new code: candidates for a reviewer, never applied unseen."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ecg_ontology.concepts import Concept, FrozenModel, Status
from ecg_ontology.errors import InputError
from ecg_ontology.label_index import LabelIndex, is_denied, parts_of
from ecg_ontology.ontology import Ontology
from ecg_ontology.review import COLUMNS
from ecg_ontology.routing import canonical_code, malformation
from ecg_ontology.sheets import read_sheet

LEAST = 0.4
"""Below this likeness two texts share no more than common words such as "atrial"."""
SURE = 0.7
"""From this likeness on a part of a label is taken for a finding of its own."""
EXACT, CLOSE, BROAD = "skos:exactMatch", "skos:closeMatch", "skos:broadMatch"


class NewCode(FrozenModel):
    """A code that has no row yet, and its label."""

    code: str
    label: str
    place: str = ""


class ConceptMatch(FrozenModel):
    """A concept for a code.

    Attributes:
        concept: the concept; `None` where the label is that of a code that no concept can carry.
        score: how alike the label and the best of the concept's texts are, 0 … 1.
        matched: that text.
        predicate: how the code relates to the concept, as far as words tell.
        note: what a reviewer must see: the label denies the finding, names two, or no concept carries it.
    """

    concept: Concept | None
    score: float
    matched: str
    predicate: str = ""
    note: str = ""


class _Text(NamedTuple):
    """What a text is of: a concept, and how a code of that label relates to it; or an unrouted code."""

    concept: Concept | None
    predicate: str
    note: str = ""


def match_label(onto: Ontology, label: str, n: int = 3) -> tuple[ConceptMatch, ...]:
    """Return up to `n` candidates whose names, texts, abbreviations or routed codes resemble `label`.

    Retired concepts are not proposed. A label that names two findings has the best of each first.

    Args:
        onto: whose texts are compared.
        label: a finding in words, as a report or a table writes it.
        n: how many candidates at most.

    Example:
        >>> import ecg_ontology
        >>> ecg_ontology.match_label(ecg_ontology.load(), "left fascicular block")[0].concept.abbr
        'LAFB'
    """
    ranked = _ranked(onto, label)
    if ranked and ranked[0].score < 1:
        parts = [_ranked(onto, part) for part in parts_of(label)]
        sure = [part[0] for part in parts if part and part[0].concept and part[0].score >= SURE]
        firsts = {each.matched: each for each in sure if each.concept and not each.concept.root}
        concepts = {each.concept.index for each in firsts.values() if each.concept}
        if len(concepts) > 1:
            note = f"names several findings: {', '.join(each.matched for each in firsts.values())}"
            own = [each for each in ranked if each.concept is None or each.concept.index not in concepts]
            several = sorted(firsts.values(), key=lambda each: -each.score)
            ranked = [each.model_copy(update={"note": note, "predicate": BROAD}) for each in several] + own
        if is_denied(label):
            denied = {"note": "denied: the label says that it is absent", "predicate": ""}
            ranked = [each.model_copy(update=denied) for each in ranked]
    return tuple(ranked[:n])


def _ranked(onto: Ontology, label: str) -> list[ConceptMatch]:
    best: dict[int | None, ConceptMatch] = {}
    for score, matched, text in _index(onto).near(label, LEAST):
        index = text.concept.index if text.concept else None
        if index not in best or score > best[index].score:
            predicate = text.predicate if score == 1 else BROAD if text.predicate == BROAD else CLOSE
            best[index] = ConceptMatch(
                concept=text.concept,
                score=score,
                matched=matched,
                predicate=predicate if text.concept else "",
                note=text.note,
            )
    order = [node.index for node in onto.nodes]
    return sorted(
        best.values(),
        key=lambda each: (
            -each.score,
            each.concept is not None and each.concept.root,
            order.index(each.concept.index) if each.concept else -1,
        ),
    )


@lru_cache(maxsize=2)
def _index(onto: Ontology) -> LabelIndex[_Text]:
    """The texts of an ontology, each with what it is of."""
    texts: list[tuple[str, _Text]] = []
    for node in onto.nodes:
        if node.deprecated:
            continue
        own = _Text(node, BROAD if node.root else EXACT)
        names = (node.label, *(each.text for each in (*node.translations, *node.synonyms)))
        texts += [(text, own) for text in names]
        texts += [(text, _Text(node, BROAD if node.root else CLOSE)) for text in (node.abbr, *node.variants)]
    iris = {node.iri: node for node in onto.nodes if not node.deprecated}
    abbreviations = onto.draft.abbreviations
    for row in onto.rows:
        if (node_ := iris.get(row.node or "")) is not None:
            if node_.root and onto.route(row.code).leaves:
                continue
            of = _Text(node_, BROAD if node_.root and row.predicate == EXACT else row.predicate)
        elif onto.route(row.code).status is Status.unrouted:
            of = _Text(None, "", f"known as {row.code}, which no concept carries: {row.reason}")
        else:
            continue
        texts.append((row.label, of))
        if row.code in abbreviations:
            predicate = CLOSE if of.predicate == EXACT else of.predicate
            texts.append((abbreviations[row.code], of._replace(predicate=predicate)))
    return LabelIndex(texts)


def read_new_codes(path: str | Path, onto: Ontology) -> tuple[NewCode, ...]:
    """Return the codes and labels of a table that have no row in `onto` yet.

    Raises `InputError` where it can't be read or lacks a column, or a code is malformed or has two
    labels.
    """
    routed = {row.code for row in onto.draft.mappings}
    new: dict[str, NewCode] = {}
    for place, cells in read_sheet(Path(path), ("code", "label")):
        code = canonical_code(cells["code"])
        if problem := malformation(code):
            remedy = "Spreadsheet programs round long numbers: keep the column as text"
            raise InputError(f"{code!r} isn't a code: {problem}", where=place, remedy=remedy)
        if code in routed:
            continue
        first = new.setdefault(code, NewCode(code=code, label=cells["label"], place=place))
        if first.label != cells["label"]:
            problem = f"{code} is {first.label!r} in {first.place} and {cells['label']!r} here"
            raise InputError(problem, where=place, remedy="Keep the label that is meant")
    return tuple(new.values())


def candidate_rows(onto: Ontology, codes: Sequence[NewCode], table: str, n: int = 3) -> list[dict[str, str]]:
    """Return a review sheet of candidates: decide ``add`` on the right one, and apply the sheet.

    A code without a candidate has one row without a node: decide ``add`` there, with a comment, to say that
    no node can carry it.
    """
    rows = []
    for new in codes:
        blank = dict.fromkeys((*COLUMNS, "score", "matched", "note"), "")
        blank |= {"table": table, "code": new.code, "label": new.label}
        candidates = match_label(onto, new.label, n)
        rows += [blank | _candidate_cells(candidate) for candidate in candidates] or [blank]
    return rows


def _candidate_cells(candidate: ConceptMatch) -> dict[str, str]:
    concept = candidate.concept
    return {
        "node": concept.abbr if concept else "",
        "node_label": concept.label if concept else "",
        "predicate": candidate.predicate,
        "score": f"{candidate.score:.2f}",
        "matched": candidate.matched,
        "note": candidate.note,
    }
