"""Concepts whose words resemble the label of a new code: candidates for a reviewer, never applied unseen."""

from collections.abc import Sequence
from pathlib import Path

from ecg_ontology.concepts import Concept, Frozen
from ecg_ontology.errors import InputError
from ecg_ontology.ontology import Ontology
from ecg_ontology.review import COLUMNS
from ecg_ontology.routing import malformation
from ecg_ontology.sheets import read_sheet
from ecg_ontology.wording import fold, similarity

LEAST = 0.4
"""Below this likeness two texts share no more than common words such as "atrial"."""


class NewCode(Frozen):
    """A code that has no row yet, and its label.

    Example:
        >>> import ecg_ontology
        >>> NewCode(code="icd10:I48.1", label="persistent atrial fibrillation").code
        'icd10:I48.1'
    """

    code: str
    label: str
    place: str = ""


class Candidate(Frozen):
    """A concept for a code.

    Attributes:
        concept: the concept.
        score: how alike the label and the best of the concept's texts are, 0 … 1.
        matched: that text.

    Example:
        >>> import ecg_ontology
        >>> best = ecg_ontology.match_label(ecg_ontology.load(), "paroxysmal atrial fibrillation")[0]
        >>> best.concept.abbr, best.score
        ('AF', 1.0)
    """

    concept: Concept
    score: float
    matched: str


def match_label(onto: Ontology, label: str, n: int = 3) -> tuple[Candidate, ...]:
    """Return up to `n` leaves or roots whose label, synonyms, text variants or routed codes resemble `label`.

    Example:
        >>> import ecg_ontology
        >>> found = ecg_ontology.match_label(ecg_ontology.load(), "left fascicular block")
        >>> found[0].concept.abbr
        'LAFB'
    """
    wanted = fold(label)
    best: dict[int, Candidate] = {}
    for index, text in _texts(onto):
        score = round(similarity(wanted, fold(text)), 2)
        if score >= LEAST and (index not in best or score > best[index].score):
            best[index] = Candidate(concept=onto.nodes[index], score=score, matched=text)
    ranked = sorted(best.values(), key=lambda each: (-each.score, each.concept.root, each.concept.index))
    return tuple(ranked[:n])


def _texts(onto: Ontology) -> list[tuple[int, str]]:
    texts = [
        (node.index, text)
        for node in onto.nodes
        for text in (node.label, *(n.text for n in (*node.translations, *node.synonyms)), *node.variants)
    ]
    for code in onto.codes:
        route = onto.route(code)
        texts += [(index, route.label) for index in route.leaves or route.nodes]
    return texts


def read_new_codes(path: str | Path, onto: Ontology) -> tuple[NewCode, ...]:
    r"""Read a table of codes and labels, and return those that have no row in `onto` yet.

    Raises:
        InputError: it can't be read, has no columns ``code`` and ``label``, or a code is malformed.

    Example:
        >>> import ecg_ontology, tempfile
        >>> path = Path(tempfile.mkdtemp()) / "codes.csv"
        >>> _ = path.write_text("code,label\n164889003,AF\nicd10:I48.1,persistent AF\n", encoding="utf-8")
        >>> [new.code for new in read_new_codes(path, ecg_ontology.load())]
        ['icd10:I48.1']
    """
    known = {row.code for row in onto.draft.mappings}
    new: dict[str, NewCode] = {}
    for place, cells in read_sheet(Path(path), ("code", "label")):
        code = cells["code"].removeprefix("snomedct:")
        if problem := malformation(code):
            remedy = "Spreadsheet programs round long numbers: keep the column as text"
            raise InputError(f"{code!r} is no code: {problem}", where=place, remedy=remedy)
        if code not in known:
            new.setdefault(code, NewCode(code=code, label=cells["label"], place=place))
    return tuple(new.values())


def candidate_rows(onto: Ontology, codes: Sequence[NewCode], table: str, n: int = 3) -> list[dict[str, str]]:
    """Return a review sheet of candidates: decide ``add`` on the right one, and apply the sheet.

    A code without a candidate has one row without a node: decide ``add`` there, with a comment, to say that
    no node can carry it.

    Example:
        >>> import ecg_ontology
        >>> new = NewCode(code="icd10:I48.1", label="persistent atrial fibrillation")
        >>> rows = candidate_rows(ecg_ontology.load(), [new], "base")
        >>> rows[0]["node"], rows[0]["decision"]
        ('AF', '')
    """
    rows = []
    for new in codes:
        blank = {
            **dict.fromkeys((*COLUMNS, "score", "matched"), ""),
            "table": table,
            "code": new.code,
            "label": new.label,
        }
        found = match_label(onto, new.label, n)
        rows += [
            {
                **blank,
                "node": each.concept.abbr,
                "node_label": each.concept.label,
                "predicate": "skos:exactMatch" if each.score == 1 else "skos:closeMatch",
                "score": f"{each.score:.2f}",
                "matched": each.matched,
            }
            for each in found
        ] or [blank]
    return rows
