"""Export an ontology as FHIR R4 resources, for terminology servers of hospitals.

The CodeSystem contains the concepts. Each concept has a ValueSet with the codes that stand for the concept.
Each vocabulary has a ConceptMap from its codes to the concepts. Source: HL7 FHIR R4, "Terminology Module".
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from ecg_ontology.formats.sssom import TRANSLATING
from ecg_ontology.formats.turtle import scheme_iri
from ecg_ontology.graph.concepts import Concept, Kind
from ecg_ontology.graph.drafts import RoutingRow
from ecg_ontology.graph.hierarchy import broader
from ecg_ontology.ontology import Ontology

FILE = re.compile(r"(CodeSystem|ValueSet|ConceptMap)-[A-Za-z0-9.-]{1,64}\.json")
"""Pattern of the file names in this export."""
_SYSTEMS = {
    "": "http://snomed.info/sct",
    "icd10": "http://hl7.org/fhir/sid/icd-10",
    "icd10cm": "http://hl7.org/fhir/sid/icd-10-cm",
}
_EQUIVALENCE = {
    "skos:exactMatch": "equivalent",
    "skos:closeMatch": "inexact",
    "skos:broadMatch": "wider",
    "skos:narrowMatch": "narrower",
    "skos:relatedMatch": "relatedto",
}
"""FHIR R4's name for the relation of the concept to the code. FHIR R4 has no name for close matches."""


def write_fhir(onto: Ontology, folder: Path) -> None:
    """Write a file per resource to a new folder."""
    folder.mkdir()
    for resource in resources(onto):
        path = folder / f"{resource['resourceType']}-{resource['id']}.json"
        path.write_text(json.dumps(resource, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def resources(onto: Ontology) -> Iterator[dict[str, Any]]:
    """Yield all resources: the CodeSystem, a ValueSet per concept, a ConceptMap per vocabulary."""
    tree = {
        onto.draft.abbreviation(iri): [onto.draft.abbreviation(parent) for parent in parents]
        for iri, parents in broader(onto.draft).items()
    }
    yield _code_system(onto, tree)
    rows = [*onto.rows, *onto.draft.crosswalks]
    rows_by_node: dict[str | None, list[RoutingRow]] = {}
    for row in rows:
        rows_by_node.setdefault(row.node, []).append(row)
    below: dict[str, list[str]] = {}
    for abbr, parents in tree.items():
        for parent in parents:
            below.setdefault(parent, []).append(abbr)
    for node in onto.nodes:
        yield _value_set(onto, node, rows_by_node.get(node.iri, []), below.get(node.abbr, []))
    for vocabulary, of_vocabulary in groupby(sorted(rows, key=_vocabulary), key=_vocabulary):
        yield _concept_map(onto, vocabulary, list(of_vocabulary))


def _head(onto: Ontology, kind: str, part: str, title: str) -> dict[str, Any]:
    """Return the first fields of a resource. `part` distinguishes resources of the same kind."""
    header, base = onto.header, onto.header.iri.rstrip("/#")
    names = filter(None, (base.rpartition("/")[2], part))
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", "-".join(names))[:64]
    return {
        "resourceType": kind,
        "id": name,
        "url": header.iri if kind == "CodeSystem" else f"{base}/{kind}/{part}",
        "version": header.version,
        "name": re.sub(r"\W", "", f"{kind}_{name}".replace("-", "_")),
        "title": title,
        "status": "active",
        "experimental": True,
        "publisher": ", ".join(header.creators) or header.iri,
        **({"copyright": f"Licence: {header.licence}"} if header.licence else {}),
    }


def _code_system(onto: Ontology, tree: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    parent = "http://hl7.org/fhir/concept-properties#parent"
    return {
        **_head(onto, "CodeSystem", "", onto.header.title),
        "identifier": [{"system": "urn:ietf:rfc:3986", "value": scheme_iri(onto.header)}],
        "caseSensitive": True,
        "hierarchyMeaning": "is-a",
        "content": "complete",
        "count": len(onto),
        "property": [
            {"code": "parent", "uri": parent, "type": "code", "description": "what it is a kind of"},
            {"code": "index", "type": "integer", "description": "index in the frozen enumeration"},
            *({"code": kind.value, "type": "code", "description": kind.readings[0]} for kind in Kind),
        ],
        "concept": [_concept(onto, node, tree[node.abbr]) for node in onto.nodes],
    }


def _concept(onto: Ontology, node: Concept, parents: Sequence[str]) -> dict[str, Any]:
    names = (*node.translations, *node.synonyms)
    kinds = {reading: kind.value for kind in Kind for reading in kind.readings[: 1 + kind.symmetric]}
    edges: list[dict[str, Any]] = [{"code": "parent", "valueCode": parent} for parent in parents]
    edges += [
        {"code": kinds[how], "valueCode": other.abbr}
        for other, how in onto.neighbours(node.index)
        if how in kinds
    ]
    return {
        "code": node.abbr,
        "display": node.label,
        **({"definition": node.definition} if node.definition else {}),
        "designation": [{"language": name.language or "en", "value": name.text} for name in names],
        "property": [{"code": "index", "valueInteger": node.index}, *edges],
    }


def _value_set(
    onto: Ontology, node: Concept, rows: Sequence[RoutingRow], below: Sequence[str]
) -> dict[str, Any]:
    """Return a ValueSet of the codes routed to a concept or its subtypes, and of crosswalk codes."""
    selected = [row for row in rows if _is_read_as(onto, row, node)]
    include: list[dict[str, Any]] = [{"system": onto.header.iri, "concept": [{"code": node.abbr}]}]
    for vocabulary, of_vocabulary in groupby(sorted(selected, key=_vocabulary), key=_vocabulary):
        codes = {_local(row): {"code": _local(row), "display": row.label} for row in of_vocabulary}
        include.append({"system": _system(onto, vocabulary), "concept": list(codes.values())})
    base = onto.header.iri.rstrip("/#")
    include += [{"valueSet": [f"{base}/ValueSet/{abbr}"]} for abbr in below]
    title = f"Codes that are read as {node.label}, profile {onto.profile}"
    return {**_head(onto, "ValueSet", node.abbr, title), "compose": {"include": include}}


def _is_read_as(onto: Ontology, row: RoutingRow, node: Concept) -> bool:
    """Return whether a code stands for this concept, and not for a narrower or wider concept."""
    if row.crosswalk:
        return row.predicate in TRANSLATING
    route = onto.route(row.code)
    return node.index in (route.leaves or route.nodes)


def _concept_map(onto: Ontology, vocabulary: str, rows: list[RoutingRow]) -> dict[str, Any]:
    elements: list[dict[str, Any]] = []
    for _, of_code in groupby(sorted(rows, key=lambda row: row.code), key=lambda row: row.code):
        first, *further = of_code
        targets = [_target(onto, row) for row in (first, *further)]
        elements.append({"code": _local(first), "display": first.label, "target": targets})
    group = {"source": _system(onto, vocabulary), "target": onto.header.iri, "element": elements}
    name = vocabulary or "snomed"
    title = f"{name} to {onto.header.title}, profile {onto.profile}"
    return {**_head(onto, "ConceptMap", name, title), "group": [group]}


def _target(onto: Ontology, row: RoutingRow) -> dict[str, Any]:
    """Return the target of a code. FHIR requires a comment if the target is narrower or inexact."""
    if row.node is None:
        return {"equivalence": "unmatched", "comment": row.reason or "no concept represents the code"}
    node = onto.draft.by_iri[row.node]
    equivalence = _EQUIVALENCE.get(row.predicate, "relatedto")
    comment = row.reason or f"SSSOM: {row.predicate}"
    return {"code": node.abbr, "display": node.label, "equivalence": equivalence, "comment": comment}


def _vocabulary(row: RoutingRow) -> str:
    return row.code.rpartition(":")[0]


def _local(row: RoutingRow) -> str:
    return row.code.rpartition(":")[2]


def _system(onto: Ontology, vocabulary: str) -> str:
    """Return FHIR's IRI of a vocabulary, or an IRI made from the ontology's IRI if FHIR has none."""
    return _SYSTEMS.get(vocabulary) or f"{onto.header.iri.rpartition('/')[0]}/{vocabulary}"
