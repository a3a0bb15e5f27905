"""Other graphs than the packaged one: cardiac with a 36th leaf or fewer edges, and five lung concepts."""

import hashlib
import json
import shutil
from pathlib import Path

from ecg_ontology import Kind, Ontology

SOURCES = Path(__file__).parents[2] / "ontology"
AXIS = """
:LAxis a ccg:Leaf ;
    ccg:index 40 ;
    skos:notation "LAxis" ;
    skos:prefLabel "Left axis deviation"@en ;
    ccg:textVariant "Left axis deviation"@en , "QRS axis left of -30 degrees"@en ,
        "Predominantly negative QRS in II and aVF"@en ;
    ccg:family :Conduction .
"""
LEFT_AXIS = "39732003"
"""The code that the packaged graph routes nowhere; synthetic left fascicular blocks carry it."""

LUNG_CODES = ("195967001", "13645005", "233604007")
"""Asthma, COPD and pneumonia, of these families."""
_FAMILIES = ("Airway", "Airway", "Tissue")
_LUNG = """
@prefix : <https://example.org/lung#> .
@prefix ccg: <https://w3id.org/mar-ecg/ccg#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .

<https://example.org/lung> a owl:Ontology ; owl:versionInfo "0.1.0" .
"""
_LUNG_CONCEPTS = (
    ("Root", "Airway", ":ring :Tissue", ("Disease of the airways", "Obstruction", "Wheeze")),
    ("Root", "Tissue", ":ring :Airway", ("Disease of the tissue", "Consolidation", "Crackles")),
    ("Leaf", "COPD", ":family :Airway", ("Chronic bronchitis", "Barrel chest", "Fixed obstruction")),
    ("Leaf", "Asthma", ":family :Airway", ("Reversible obstruction", "Expiratory wheeze", "Atopy")),
    ("Leaf", "Pneumonia", ":family :Tissue", ("Lobar consolidation", "Infection of the lung", "Crackles")),
)
_HEADER = (
    "subject_id subject_label predicate_id object_id object_label mapping_justification mapping_source "
    "other comment author_label mapping_date"
)


def cardiac_with_an_axis(folder: Path) -> Path:
    """The packaged sources with a 36th leaf, left axis deviation, and its route: 41 concepts."""
    shutil.copytree(SOURCES, folder)
    graph, routes = folder / "cardiac.ttl", folder / "routing.sssom.tsv"
    text = graph.read_text(encoding="utf-8").replace("1.2.0", "1.3.0")
    graph.write_text(text + AXIS, encoding="utf-8")
    lines = routes.read_text(encoding="utf-8").splitlines()
    (place,) = (number for number, line in enumerate(lines) if line.startswith(f"snomedct:{LEFT_AXIS}\t"))
    lines[place : place + 1] = [
        _route(f"snomedct:{LEFT_AXIS}", "left axis deviation", *to)
        for to in (
            ("skos:exactMatch", "cardiac:LAxis", "Left axis deviation"),
            ("skos:broadMatch", "cardiac:Conduction", "Conduction"),
        )
    ]
    routes.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def without_edges(real: Ontology, kind: Kind = Kind.sibling) -> Ontology:
    """The same concepts and codes without the edges of a kind."""
    kept = tuple(relation for relation in real.draft.relations if relation.kind is not kind)
    return Ontology(real.draft.model_copy(update={"relations": kept}))


def lung(folder: Path) -> Path:
    """Two families and three leaves of another field, with a route for each leaf's SNOMED CT code."""
    folder.mkdir(parents=True)
    concepts = [
        f':{abbr} a ccg:{kind} ; ccg:index {index} ; skos:notation "{abbr}" ; skos:prefLabel "{abbr}"@en ;\n'
        f"    ccg:textVariant {' , '.join(map(json.dumps, texts))} ;\n    ccg{edge} .\n"
        for index, (kind, abbr, edge, texts) in enumerate(_LUNG_CONCEPTS)
    ]
    (folder / "lung.ttl").write_text(_LUNG + "".join(concepts), encoding="utf-8")
    routes = [
        _route(f"snomedct:{code}", abbr, predicate, f"lung:{node}", node)
        for code, abbr, family in zip(LUNG_CODES, ("Asthma", "COPD", "Pneumonia"), _FAMILIES, strict=True)
        for predicate, node in (("skos:exactMatch", abbr), ("skos:broadMatch", family))
    ]
    prefix = ["#curie_map:", '#  lung: "https://example.org/lung#"', '#  snomedct: "http://snomed.info/id/"']
    table = [*prefix, _HEADER.replace(" ", "\t"), *routes]
    (folder / "routing.sssom.tsv").write_text("\n".join(table) + "\n", encoding="utf-8")
    return folder


def _route(code: str, label: str, predicate: str, node: str, name: str) -> str:
    rest = ("semapv:ManualMappingCuration", "marecg:curation", "regime: single morphology", "", "", "")
    return "\t".join((code, label, predicate, node, name, *rest))


def edited(bundle: Path, old: str, new: str, out: Path | None = None) -> Path:
    """A bundle with other words, and the hash of its own that goes with them."""
    text = bundle.read_text(encoding="utf-8")
    assert old in text
    content = "{" + text.partition(",")[2].replace(old, new).removesuffix("\n")
    stated = hashlib.sha256(content.encode()).hexdigest()
    (out or bundle).write_text(f'{{"bundle_sha256": "{stated}",{content[1:]}\n', encoding="utf-8")
    return out or bundle
