"""Edit files of routing tables row by row, without changing other rows."""

import csv
import io
import re
from itertools import groupby
from pathlib import Path

from ecg_base import InputError
from ecg_ontology.base.reading import read_text
from ecg_ontology.formats.sssom import (
    AUTHOR,
    DATE,
    MANUAL,
    MAPPING_COLUMNS,
    NO_TERM,
    SNOMED,
    code_of,
    curie_map,
    metadata_and_table,
    metadata_text,
    other_text,
    override_of,
    short_names,
    shorten,
)
from ecg_ontology.formats.turtle import code_namespace, concept_namespace
from ecg_ontology.graph.concepts import FrozenModel, Regime, Tier
from ecg_ontology.graph.drafts import BASE_TABLE, Draft, DraftConcept
from ecg_ontology.graph.routing import BUILT_IN, PAPER, SNOMED_IRIS, regime_of

_WRITTEN = ("subject_label", "object_label", "mapping_justification", "other", "comment", AUTHOR, DATE)
"""Columns that decisions fill. They are added to tables that lack them."""


class Decision(FrozenModel):
    """Decision of a reviewer on a mapping, a code and the concept (node) that it is assigned to.

    Attributes:
        decision: ``keep``, ``change`` (predicate and comment), ``remove`` or ``add``.
        table: table of the mapping.
        code: code of the mapping.
        label: label of the code.
        node: abbreviation of the node, or "" for a code that no node can represent.
        predicate: relation from code to node. For a new mapping, "" means ``skos:closeMatch``.
        comment: reason for the decision.
        reviewer: name of the reviewer.
        date: date of the decision, ``YYYY-MM-DD``.
        override: reason for keeping the mapping although its label names another concept.
        place: file and line of the decision.
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
    override: str = ""
    place: str = ""


class RoutingFile:
    """File of the routing table `table` in the folder `sources`. The file may not exist yet.

    `draft` is the content of the folder. Raises `InputError` if the name of the table is invalid, or is
    ``paper``, a table that can't be edited.
    """

    def __init__(self, sources: Path, table: str, draft: Draft) -> None:
        if table == PAPER:
            problem = "can't be edited, because it reproduces the paper"
            remedy = "Decide in the table curated, and write `keep` or no decision in this row"
            raise InputError(problem, where=sources / "routing.paper.sssom.tsv", remedy=remedy)
        if not table.replace("-", "").replace("_", "").isalnum():
            problem = f"the name of a table must have only letters, digits, - and _, got {table!r}"
            raise InputError(problem, where=sources, remedy="Rename the table")
        infix = "" if table == BASE_TABLE else f".{table}"
        self.path = sources / f"routing{infix}.sssom.tsv"
        self.table = table
        text = read_text(self.path) if self.path.exists() else _empty(draft)
        self._head, table_text = metadata_and_table(text)
        body = csv.DictReader(io.StringIO(table_text, newline=""), delimiter="\t")
        self._columns = list(dict.fromkeys((*(body.fieldnames or MAPPING_COLUMNS), *_WRITTEN)))
        self._prefixes = curie_map(self._head)
        by_code = groupby(body, lambda row: code_of(row["subject_id"] or "", self._prefixes))
        self._groups = [(code, list(rows)) for code, rows in by_code]
        self._by_abbr = {concept.abbr: concept for concept in draft.concepts}
        self._by_iri = draft.by_iri
        self._bases = {**BUILT_IN, **short_names(self._by_iri), **self._prefixes}
        self._families = draft.families
        self._iri = draft.header.iri

    def _declare(self, code: str) -> None:
        """Add the prefix of a code to the table's curie_map (its list of prefixes) if it is missing."""
        prefix = code.rpartition(":")[0] or SNOMED
        if prefix in self._prefixes or (prefix == SNOMED and {*self._prefixes.values()} & {*SNOMED_IRIS}):
            return
        iri = SNOMED_IRIS[0] if prefix == SNOMED else code_namespace(self._iri, prefix)
        if "#curie_map:" not in self._head:
            self._head.append("#curie_map:")
        first = self._head.index("#curie_map:") + 1
        indent = next(
            (re.match("#( +)", line) for line in self._head[first:] if re.match("#( +)", line)), None
        )
        self._head.insert(first, f'#{indent[1] if indent else "  "}{prefix}: "{iri}"')
        self._prefixes[prefix] = iri

    def apply(self, decision: Decision) -> None:
        """Apply a decision. Raises `InputError` if the decision contradicts the existing mappings.

        A new mapping to a leaf also adds a mapping to the root of the leaf. The regime (type of routing, see
        `Regime`) of the code is derived from its nodes.
        """
        concept = self._concept(decision)
        of_code = self._of_code(decision.code)
        row = next((row for row in of_code if self._node(row) == concept), None)
        node_name = decision.node or "nothing"
        if decision.decision == "add":
            if row is not None:
                raise InputError(f"{decision.code} is already routed to {node_name}", where=decision.place)
            label = (of_code[0].get("subject_label") if of_code else "") or decision.label
            if decision.label.casefold() != label.casefold():
                problem = (
                    f"{decision.code} must have the label {label!r} of the table {self.table}, "
                    f"got {decision.label!r}"
                )
                remedy = "Correct the code or the label"
                raise InputError(problem, where=decision.place, remedy=remedy)
            of_code += self._new(decision, concept, of_code)
            self._declare(decision.code)
        elif row is None:
            problem = f"no row of the table {self.table} routes {decision.code} to {node_name}"
            remedy = "Write `add` for a new mapping, or make a new sheet"
            raise InputError(problem, where=decision.place, remedy=remedy)
        elif decision.decision == "remove":
            of_code.remove(row)
        else:
            row |= {AUTHOR: decision.reviewer, DATE: decision.date}
            if decision.decision == "change":
                predicate = decision.predicate or row["predicate_id"]
                row |= {"comment": decision.comment, "predicate_id": predicate}
        if decision.override and decision.decision != "remove":
            row = next((row for row in of_code if self._node(row) == concept), {})
            row["other"] = other_text(Regime.single, decision.override)
        nodes = [self._node(row) for row in of_code]
        tiers = {node.iri: node.tier for node in nodes if node}
        regime = regime_of([node.iri if node else None for node in nodes], tiers)
        for row in of_code:
            row["other"] = other_text(regime, override_of(row.get("other") or ""))
        of_code.sort(key=lambda row: (node := self._node(row)) is not None and node.tier is Tier.root)

    def _of_code(self, code: str) -> list[dict[str, str]]:
        """Return the rows of a code. If they aren't adjacent, they are moved to the first row."""
        groups = [rows for other, rows in self._groups if other == code]
        if not groups:
            groups = [[]]
            self._groups.append((code, groups[0]))
        for scattered in groups[1:]:
            groups[0] += scattered
            scattered.clear()
        return groups[0]

    def _concept(self, decision: Decision) -> DraftConcept | None:
        if decision.node and decision.node not in self._by_abbr:
            problem = f"no concept has the abbreviation {decision.node!r}"
            raise InputError(problem, where=decision.place, remedy="`ecgonto show` lists them")
        return self._by_abbr.get(decision.node)

    def _node(self, row: dict[str, str]) -> DraftConcept | None:
        """Return the concept that a row maps to, or None. The file may use any prefix."""
        prefix, _, local = row["object_id"].partition(":")
        return self._by_iri.get(self._bases[prefix] + local if prefix in self._bases else row["object_id"])

    def _new(
        self, decision: Decision, concept: DraftConcept | None, of_code: list[dict[str, str]]
    ) -> list[dict[str, str]]:
        """Return the row of a new mapping, and a row for the root of its leaf if the code has no such row."""
        root = self._by_iri.get(self._families.get(concept.iri, "")) if concept else None
        predicate = decision.predicate or "skos:closeMatch"
        ends = [(concept, predicate if concept else "skos:exactMatch", decision.comment)]
        if root is not None and root not in map(self._node, of_code):
            ends.append((root, "skos:broadMatch", ""))
        subject = decision.code if ":" in decision.code else f"{SNOMED}:{decision.code}"
        return [
            {
                **dict.fromkeys(self._columns, ""),
                "subject_id": of_code[0]["subject_id"] if of_code else subject,
                "subject_label": of_code[0].get("subject_label", "") if of_code else decision.label,
                "predicate_id": relation,
                "object_id": shorten(node.iri, self._prefixes) if node else NO_TERM,
                "object_label": node.label if node else "",
                "mapping_justification": MANUAL,
                "comment": comment,
                AUTHOR: decision.reviewer,
                DATE: decision.date,
            }
            for node, relation, comment in ends
        ]

    def text(self) -> str:
        """Return the text of the file after the applied decisions."""
        out = io.StringIO()
        out.write("".join(f"{line}\n" for line in self._head))
        writer = csv.DictWriter(out, self._columns, restval="", delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for _, rows in self._groups for row in rows)
        return out.getvalue()


def _empty(draft: Draft) -> str:
    prefix = draft.header.iri.rstrip("/#").rpartition("/")[2].rpartition("#")[2]
    prefixes = {prefix or "node": concept_namespace(draft.header)}
    return metadata_text({"mapping_set_id": f"{draft.header.iri}/routing"}, prefixes)
