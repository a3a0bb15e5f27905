"""A routing table as its file, so that one row changes and all others stay as they stand."""

import csv
import io
from pathlib import Path

from ecg_ontology.concepts import Frozen, Kind, Regime, Tier
from ecg_ontology.drafts import BASE_TABLE, Draft, DraftConcept
from ecg_ontology.errors import InputError
from ecg_ontology.files import read_text
from ecg_ontology.routing import PAPER
from ecg_ontology.sssom import (
    AUTHOR,
    COLUMNS,
    DATE,
    MANUAL,
    NO_TERM,
    SNOMED,
    curie_map,
    metadata_and_table,
    metadata_text,
    shorten,
)
from ecg_ontology.turtle import concept_namespace


class Decision(Frozen):
    """What a reviewer decided on one mapping.

    Attributes:
        decision: ``keep``, ``change`` (predicate and comment), ``remove`` or ``add``.
        table: the table that the mapping stands in, or goes to.
        code: its code.
        label: the code's label.
        node: abbreviation of its node; "" for a code that no node can carry.
        predicate: how code and node relate; for a new mapping "" means ``skos:closeMatch``.
        comment: the reason.
        reviewer: who decided.
        date: when, ``YYYY-MM-DD``.
        place: where it was read.

    Example:
        >>> import ecg_ontology
        >>> Decision(decision="add", table="base", code="icd10:I48.0", label="paroxysmal AF",
        ...                       node="AF", reviewer="A. Reviewer", date="2026-01-31").node
        'AF'
    """

    decision: str
    table: str
    code: str
    label: str
    node: str
    predicate: str = ""
    comment: str = ""
    reviewer: str
    date: str
    place: str = ""


class RoutingFile:
    """The file of one routing table: its metadata, its columns and its rows, as they stand.

    Args:
        sources: the folder of sources.
        table: the table's name; a file that is not there yet begins empty.
        draft: what the sources state.

    Raises:
        InputError: no table can have this name.
        SourceError: the file can't be read.
    """

    def __init__(self, sources: Path, table: str, draft: Draft) -> None:
        if table == PAPER:
            problem = "holds what the paper prints, and nobody decides that"
            raise InputError(problem, where=sources / "routing.paper.sssom.tsv", remedy="Decide in curated")
        if not table.replace("-", "").replace("_", "").isalnum():
            raise InputError(
                f"no table can be called {table!r}", where=sources, remedy="Use letters and digits"
            )
        infix = "" if table == BASE_TABLE else f".{table}"
        self.path = sources / f"routing{infix}.sssom.tsv"
        self.table = table
        text = read_text(self.path) if self.path.exists() else _empty(draft)
        self._head, table_text = metadata_and_table(text)
        body = csv.DictReader(io.StringIO(table_text, newline=""), delimiter="\t")
        self.rows = list(body)
        self._columns = list(dict.fromkeys((*(body.fieldnames or COLUMNS), AUTHOR, DATE)))
        self._prefixes = curie_map(self._head)
        self._concepts = {concept.abbr: concept for concept in draft.concepts}
        self._curies = {shorten(concept.iri, self._prefixes): concept for concept in draft.concepts}
        self._families = {r.subject: r.object for r in draft.relations if r.kind is Kind.family}

    def apply(self, decision: Decision) -> None:
        """Carry out one decision.

        A new mapping to a leaf brings the leaf's root, and the regime of the code follows from its nodes.

        Raises:
            InputError: it is about a mapping that is not there, or that is there already, or calls a code
                something else than the table does.
        """
        subject = decision.code if ":" in decision.code else f"{SNOMED}:{decision.code}"
        target = self._object(decision)
        of_code = [row for row in self.rows if row["subject_id"] == subject]
        row = next((row for row in of_code if row["object_id"] == target), None)
        where = decision.node or "nothing"
        if decision.decision == "add":
            if row is not None:
                raise InputError(f"{decision.code} is routed to {where} already", where=decision.place)
            known = of_code[0]["subject_label"] if of_code else decision.label
            if decision.label.casefold() != known.casefold():
                raise InputError(
                    f"{decision.code} is {known!r} in the table {self.table}, and not {decision.label!r}",
                    where=decision.place,
                    remedy="Check the code, or give it the label that it has",
                )
            of_code += self._new(decision, subject, of_code)
        elif row is None:
            raise InputError(
                f"no row of the table {self.table} routes {decision.code} to {where}",
                where=decision.place,
                remedy="Write `add` for a new mapping, or make the sheet anew",
            )
        elif decision.decision == "remove":
            of_code.remove(row)
        else:
            row |= {AUTHOR: decision.reviewer, DATE: decision.date}
            if decision.decision == "change":
                row |= {
                    "comment": decision.comment,
                    "predicate_id": decision.predicate or row["predicate_id"],
                }
        self._settle(subject, of_code)

    def _object(self, decision: Decision) -> str:
        if not decision.node:
            return NO_TERM
        if decision.node not in self._concepts:
            problem = f"no concept has the abbreviation {decision.node!r}"
            raise InputError(problem, where=decision.place, remedy="`ecgonto show` lists them")
        return shorten(self._concepts[decision.node].iri, self._prefixes)

    def _new(self, decision: Decision, subject: str, of_code: list[dict[str, str]]) -> list[dict[str, str]]:
        """The row of a new mapping, and that of its root where the code has none yet."""
        concept = self._concepts.get(decision.node)
        present = {row["object_id"] for row in of_code}
        root = (
            self._curies.get(shorten(self._families.get(concept.iri, ""), self._prefixes))
            if concept
            else None
        )
        predicate = decision.predicate or "skos:closeMatch"
        wanted = [(concept, predicate if concept else "skos:exactMatch", decision.comment)]
        if root is not None and shorten(root.iri, self._prefixes) not in present:
            wanted.append((root, "skos:broadMatch", ""))
        return [
            {
                **dict.fromkeys(self._columns, ""),
                "subject_id": subject,
                "subject_label": of_code[0]["subject_label"] if of_code else decision.label,
                "predicate_id": relation,
                "object_id": shorten(node.iri, self._prefixes) if node else NO_TERM,
                "object_label": node.label if node else "",
                "mapping_justification": MANUAL,
                "comment": comment,
                AUTHOR: decision.reviewer,
                DATE: decision.date,
            }
            for node, relation, comment in wanted
        ]

    def _settle(self, subject: str, of_code: list[dict[str, str]]) -> None:
        """Put the rows of a code where its first one stands, leaves before the root, with their regime."""
        nodes = [self._curies.get(row["object_id"]) for row in of_code]
        leaves = sum(node is not None and node.tier is Tier.leaf for node in nodes)
        regime = (Regime.generic, Regime.single, Regime.localised)[min(leaves, 2)]
        if any(row["object_id"] == NO_TERM for row in of_code):
            regime = Regime.unrouted
        start = next((n for n, row in enumerate(self.rows) if row["subject_id"] == subject), len(self.rows))
        self.rows = [row for row in self.rows if row["subject_id"] != subject]
        ordered = sorted(zip(of_code, nodes, strict=True), key=lambda pair: _is_root(pair[1]))
        self.rows[start:start] = [{**row, "other": f"regime: {regime}"} for row, _ in ordered]

    def text(self) -> str:
        """The table as the text of its file."""
        out = io.StringIO()
        out.write("".join(f"{line}\n" for line in self._head))
        writer = csv.DictWriter(out, self._columns, restval="", delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return out.getvalue()


def _is_root(concept: DraftConcept | None) -> bool:
    return concept is not None and concept.tier is Tier.root


def _empty(draft: Draft) -> str:
    prefix = draft.header.iri.rstrip("/#").rpartition("/")[2].rpartition("#")[2]
    prefixes = {prefix or "node": concept_namespace(draft.header)}
    return metadata_text({"mapping_set_id": f"{draft.header.iri}/routing"}, prefixes)
