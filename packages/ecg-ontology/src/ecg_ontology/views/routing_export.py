"""Export the routing (the assignment of codes to concepts) as a table in SSSOM, a standard for mappings."""

from ecg_ontology.formats.sssom import SNOMED, sssom_text
from ecg_ontology.formats.turtle import code_namespace, concept_namespace
from ecg_ontology.graph.routing import BUILT_IN
from ecg_ontology.ontology import Ontology

_PREFIXES = {
    "marecg": "https://w3id.org/mar-ecg/",
    SNOMED: "http://snomed.info/id/",
    **{name: BUILT_IN[name] for name in ("semapv", "skos", "sssom")},
}


def routing_text(onto: Ontology) -> str:
    """Return the rows of all routing tables that apply in the profile of `onto`, as a single SSSOM table."""
    short = onto.header.iri.rstrip("/#").rpartition("/")[2] or "node"
    metadata = {
        "mapping_set_id": f"{onto.header.iri}/routing/{onto.profile}",
        "mapping_set_version": f'"{onto.header.version}"',
        **({"license": onto.header.licence} if onto.header.licence else {}),
        "mapping_set_title": f"Routing of {onto.header.title}, profile {onto.profile}",
    }
    prefixes = {short: concept_namespace(onto.header), **_PREFIXES, **_code_prefixes(onto)}
    labels = {node.iri: node.label for node in onto.nodes}
    return sssom_text(onto.rows, metadata=metadata, prefixes=prefixes, labels=labels)


def _code_prefixes(onto: Ontology) -> dict[str, str]:
    """Return namespaces for the vocabularies of codes and sources that have no standard namespace."""
    names = {text.rpartition(":")[0] for row in onto.rows for text in (row.code, row.source)}
    return {name: code_namespace(onto.header.iri, name) for name in sorted(names - {"", *_PREFIXES})}
