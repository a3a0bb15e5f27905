"""Suggest concepts for codes without a row in the routing tables, by the similarity of their labels.

A suggestion, or candidate, takes effect only if a reviewer accepts it.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ecg_base import InputError
from ecg_ontology.base.text_folding import plain
from ecg_ontology.curation.label_index import LabelIndex, parts_of
from ecg_ontology.curation.review import SHEET_COLUMNS, candidate_state
from ecg_ontology.curation.sheets import read_sheet
from ecg_ontology.graph.concepts import Concept, FrozenModel, Status
from ecg_ontology.graph.routing import canonical_code, malformation
from ecg_ontology.ontology import Ontology
from ecg_ontology.statements.reading import Mention, denies, has_rules, read_text

LEAST = 0.4
"""Minimum similarity of a candidate. Less similar texts share only common words such as "atrial"."""
LIKELY = 0.7
"""Minimum similarity of a candidate if the language rules found nothing in the label."""
READ = 0.9
"""Score of a concept that the language rules found. A text of the concept itself has a higher score."""
SURE = 0.7
"""Minimum similarity of a part of a label that counts as a separate finding."""
EXACT, CLOSE, BROAD = "skos:exactMatch", "skos:closeMatch", "skos:broadMatch"


class NewCode(FrozenModel):
    """Code without a row in the routing tables, its label, and its location in the user's table."""

    code: str
    label: str
    place: str = ""


class ConceptMatch(FrozenModel):
    """Candidate concept for a code.

    Attributes:
        mention: the concept, and the text that the label resembles. The concept is `None` if the text is the
            label of a code without a concept.
        score: similarity of the label and the concept's most similar text, from 0 to 1. If language rules
            found the concept, the score is 0.9.
        predicate: SKOS relation from the code to the concept, such as ``skos:closeMatch``, or "".
        note: note for reviewers, for example if the label denies or doubts the finding, or names several
            findings.
    """

    mention: Mention
    score: float
    predicate: str = ""
    note: str = ""

    @property
    def concept(self) -> Concept | None:
        """The candidate concept, or `None`."""
        return self.mention.concept

    @property
    def matched(self) -> str:
        """The text that the label resembles."""
        return self.mention.text

    @property
    def present(self) -> bool:
        """Whether the label states that the finding is certainly, probably or possibly present."""
        return self.mention.present


class _Text(NamedTuple):
    """Entry of the index: the concept or the unrouted code that a text names.

    `predicate` is the relation to the concept if a label equals the text.
    """

    concept: Concept | None
    predicate: str
    note: str = ""
    code: str = ""


def match_label(onto: Ontology, label: str, n: int = 3, without: str = "") -> tuple[ConceptMatch, ...]:
    """Return up to `n` candidate concepts for a label.

    If the label equals a text of the ontology, or rules of language find no finding in the label, the most
    similar texts decide. Otherwise, the findings in the label are returned: present findings first, in the
    order of the label, then denied, past and requested findings, with a note and without a predicate.
    Deprecated concepts are not proposed.

    Args:
        onto: ontology with the texts to compare with.
        label: a finding in words, from a report or a table.
        n: maximum number of candidates.
        without: code whose own rows are ignored, so that its label is compared with all other labels.

    Example:
        >>> import ecg_ontology
        >>> first, second = match_label(ecg_ontology.load(), "sinus rhythm, no LBBB")
        >>> first.concept.abbr, second.concept.abbr, second.note
        ('NSR', 'LBBB', 'denied: the label says that the finding is absent')
    """
    label = plain(label)
    index = _index(onto)
    exact = any(not without or text.code != without for _, _, text in index.same(label))
    if not exact and (mentions := read_text(onto, label)):
        return _of_mentions(mentions)[:n]
    ranked = _ranked(onto, label, without)
    if ranked and ranked[0].score == 1:
        return tuple(ranked[:n])
    return tuple(_of_parts(onto, label, ranked, without)[:n])


def _of_mentions(mentions: Sequence[Mention]) -> tuple[ConceptMatch, ...]:
    present = [
        mention for mention in mentions if mention.present and mention.concept and not mention.concept.root
    ]
    texts = list(dict.fromkeys(mention.text for mention in present))
    several = f"names several findings: {', '.join(texts)}" if len(texts) > 1 else ""
    matches = []
    for mention in sorted(mentions, key=lambda mention: (not mention.present, mention.concept is None)):
        notes = [mention.note, several if mention in present else ""]
        matches.append(
            ConceptMatch(
                mention=mention,
                score=READ,
                predicate=_predicate(mention, len(present)),
                note="; ".join(filter(None, notes))
                or ("" if mention.concept else "no concept represents it"),
            )
        )
    return tuple(matches)


def _predicate(mention: Mention, findings: int) -> str:
    if mention.concept is None or not mention.present:
        return ""
    return BROAD if mention.concept.root or findings > 1 else CLOSE


def _of_parts(onto: Ontology, label: str, ranked: list[ConceptMatch], without: str) -> list[ConceptMatch]:
    """Return the candidates by similarity. If a label has several findings, match each part separately."""
    least = LIKELY if has_rules(onto) else LEAST
    ranked = [match for match in ranked if match.score >= least]
    parts = [_ranked(onto, part, without) for part in parts_of(label)]
    sure = [part[0] for part in parts if part and part[0].concept and part[0].score >= SURE]
    firsts = {match.matched: match for match in sure if match.concept and not match.concept.root}
    concepts = {match.concept.index for match in firsts.values() if match.concept}
    if len(concepts) > 1:
        note = f"names several findings: {', '.join(match.matched for match in firsts.values())}"
        remaining = [
            match for match in ranked if match.concept is None or match.concept.index not in concepts
        ]
        several = sorted(firsts.values(), key=lambda match: -match.score)
        ranked = [
            match.model_copy(update={"note": note, "predicate": BROAD}) for match in several
        ] + remaining
    if denies(label):
        denied = [match.mention.model_copy(update={"denied": True}) for match in ranked]
        ranked = [
            ConceptMatch(mention=mention, score=match.score, note=mention.note)
            for match, mention in zip(ranked, denied, strict=True)
        ]
    return ranked


def _ranked(onto: Ontology, label: str, without: str) -> list[ConceptMatch]:
    best: dict[int | None, tuple[float, str, _Text]] = {}
    for score, matched, text in _index(onto).near(label, LEAST):
        if without and text.code == without:
            continue
        index = text.concept.index if text.concept else None
        if index not in best or score > best[index][0]:
            best[index] = score, matched, text
    candidates = [_candidate(*entry) for entry in best.values()]
    order = [node.index for node in onto.nodes]
    return sorted(
        candidates,
        key=lambda candidate: (
            -candidate.score,
            candidate.concept is not None and candidate.concept.root,
            order.index(candidate.concept.index) if candidate.concept else -1,
        ),
    )


def _candidate(score: float, matched: str, text: _Text) -> ConceptMatch:
    predicate = text.predicate if score == 1 else BROAD if text.predicate == BROAD else CLOSE
    finding = text.concept.abbr if text.concept else text.code
    return ConceptMatch(
        mention=Mention(concept=text.concept, finding=finding, text=matched),
        score=score,
        predicate=predicate if text.concept else "",
        note=text.note,
    )


@lru_cache(maxsize=2)
def _index(onto: Ontology) -> LabelIndex[_Text]:
    """Return an index of all texts of an ontology."""
    texts: list[tuple[str, _Text]] = []
    for node in onto.nodes:
        if node.deprecated:
            continue
        label = _Text(node, BROAD if node.root else EXACT)
        names = (node.label, *(variant.text for variant in (*node.translations, *node.synonyms)))
        texts += [(text, label) for text in names]
        texts += [(text, _Text(node, BROAD if node.root else CLOSE)) for text in (node.abbr, *node.variants)]
    iris = {node.iri: node for node in onto.nodes if not node.deprecated}
    abbreviations = onto.draft.abbreviations
    for row in onto.rows:
        if (node_ := iris.get(row.node or "")) is not None:
            if node_.root and onto.route(row.code).leaves:
                continue
            of = _Text(node_, BROAD if node_.root and row.predicate == EXACT else row.predicate, "", row.code)
        elif onto.route(row.code).status is Status.unrouted:
            of = _Text(None, "", f"the label of {row.code}, which has no concept: {row.reason}", row.code)
        else:
            continue
        texts.append((row.label, of))
        if row.code in abbreviations:
            predicate = CLOSE if of.predicate == EXACT else of.predicate
            texts.append((abbreviations[row.code], of._replace(predicate=predicate)))
    for row in onto.draft.crosswalks:
        if (node_ := iris.get(row.node or "")) is not None and row.predicate in {EXACT, CLOSE, BROAD}:
            predicate = BROAD if node_.root else row.predicate
            texts.append((row.label, _Text(node_, predicate, code=row.code)))
    return LabelIndex(texts)


def read_new_codes(path: str | Path, onto: Ontology) -> tuple[NewCode, ...]:
    """Return the codes of a table, with their labels, that have no row in the routing tables of `onto`.

    Raises `InputError` if the table can't be read or lacks the column ``code`` or ``label``, or if a code is
    malformed or has two labels.
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
            problem = (
                f"{code} must have one label, got {cells['label']!r}, and {first.label!r} in {first.place}"
            )
            raise InputError(problem, where=place, remedy="Keep the right label")
    return tuple(new.values())


def candidate_rows(onto: Ontology, codes: Sequence[NewCode], table: str, n: int = 3) -> list[dict[str, str]]:
    """Return the rows of a review sheet with up to `n` candidate concepts for each code.

    Reviewers write the decision ``add`` in the row of the right candidate. The code is then added to the
    routing table `table`. A code without candidates gets a row without a concept. The decision ``add`` with a
    comment in this row means that no concept can represent the code.
    """
    rows = []
    for new in codes:
        blank = dict.fromkeys((*SHEET_COLUMNS, "score", "matched", "note"), "")
        blank |= {"table": table, "code": new.code, "label": new.label}
        blank["state"] = candidate_state(new.code, new.label)
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
