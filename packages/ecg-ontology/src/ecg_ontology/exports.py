"""The ontology for other programs: arrays, tables, RDF, a drawing language. The file's ending says which."""

import csv
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from ecg_ontology.errors import UsageError, optional
from ecg_ontology.fhir import write_fhir
from ecg_ontology.files import refuse_unmarked, replacing, write_text
from ecg_ontology.ontology import Ontology
from ecg_ontology.overwriting import NODES_HEADER, TABLES, refuse_foreign
from ecg_ontology.vocabulary_exports import routing_text, skos_mark, skos_text, sssom_mark


def export(onto: Ontology, out: str | Path) -> Path:
    """Write `onto` in the form that the ending of `out` names.

    ========================  =============================================================================
    ``.npz``                  distances, adjacency, a_hat, abbr, root; sha256 and iri as string arrays
    ``.safetensors``          distances, adjacency, a_hat; iri, abbr, sha256 as metadata (``[safetensors]``)
    ``.json``                 the bundle, which `ecg_ontology.load` reads
    ``.csv``                  a folder of that name: nodes, edges, routing, distances, a_hat
    ``.ttl`` ``.owl`` ``.nt``  the graph as canonical Turtle, RDF/XML, N-Triples
    ``.jsonld`` ``.obo``      the graph as JSON-LD with its context, as OBO 1.4
    ``.skos.ttl``             the concepts as a SKOS scheme, codes as mappings
    ``.sssom.tsv``            the rows that hold in the profile as one SSSOM table
    ``.fhir``, ``fhir``       a folder of that name or ending: FHIR R4 CodeSystem, ValueSets, ConceptMaps
    ``.dot``                  the graph for Graphviz
    ========================  =============================================================================

    What an earlier export wrote is replaced; nothing else is.

    Args:
        onto: the ontology, in the profile to be written.
        out: a path whose ending is in the table.

    Returns:
        The path that was written.

    Raises:
        UsageError: no form has this ending, or something else is there.
        OutputError: the file can't be written.

    Example:
        >>> import ecg_ontology, tempfile
        >>> out = Path(tempfile.mkdtemp()) / "ccg.npz"
        >>> _ = ecg_ontology.export(ecg_ontology.load(), out)
        >>> np.load(out)["distances"].shape
        (40, 40)
    """
    out = Path(out)
    two = "".join(out.suffixes[-2:])
    suffix = ".fhir" if out.name == "fhir" else out.suffix
    if two not in _VIEWS and suffix not in _WRITERS:
        endings = ", ".join((*_WRITERS, *_VIEWS))
        problem = f"no form has the ending {out.suffix!r}"
        raise UsageError(problem, where=out, remedy=f"Choose one of {endings}")
    if two in _VIEWS:
        text, mark = _VIEWS[two]
        refuse_unmarked(out, mark(onto).encode())
        write_text(out, text(onto))
        return out
    refuse_foreign(onto, out)
    with replacing(out) as temporary:
        _WRITERS[suffix](onto, temporary)
    return out


def _npz(onto: Ontology, path: Path) -> None:
    np.savez(
        path,
        distances=onto.distances,
        adjacency=onto.adjacency,
        a_hat=onto.a_hat,
        abbr=np.array([node.abbr for node in onto.nodes]),
        root=np.array([node.root for node in onto.nodes]),
        sha256=np.array(onto.sha256),
        iri=np.array(onto.header.iri),
    )


def _safetensors(onto: Ontology, path: Path) -> None:
    remedy = 'pip install "ecg-ontology[safetensors]"'
    safetensors = optional("safetensors.numpy", "safetensors is not installed", remedy)
    arrays = {"distances": onto.distances, "adjacency": onto.adjacency, "a_hat": onto.a_hat}
    metadata = {
        "iri": onto.header.iri,
        "sha256": onto.sha256,
        "abbr": json.dumps([node.abbr for node in onto.nodes]),
    }
    path.write_bytes(safetensors.save(arrays, metadata))  # `save_file` would keep it from other users


def _csv(onto: Ontology, path: Path) -> None:
    path.mkdir()
    abbr = [node.abbr for node in onto.nodes]
    nodes = ((n.index, n.abbr, n.label, "root" if n.root else "leaf", n.iri) for n in onto.nodes)
    edges = ((edge.kind, edge.source, edge.target) for edge in onto.relations)
    routes = (
        (r.code, r.label, r.status, " ".join(abbr[i] for i in r.nodes)) for r in onto.routes(onto.codes)
    )
    tables: tuple[tuple[Iterable[str], Iterable[Iterable[object]]], ...] = (
        (NODES_HEADER, nodes),
        (("kind", "source", "target"), edges),
        (("code", "label", "status", "nodes"), routes),
        (abbr, onto.distances.tolist()),
        (abbr, onto.a_hat.tolist()),
    )
    for name, (header, rows) in zip(TABLES, tables, strict=True):
        with (path / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)


def _graph(onto: Ontology, path: Path) -> None:
    from ecg_ontology.obo_text import obo_text
    from ecg_ontology.rdf_writer import rdf_text

    text = obo_text(onto.draft) if path.suffix == ".obo" else rdf_text(onto.draft, path.suffix)
    path.write_text(text, encoding="utf-8")


def _dot(onto: Ontology, path: Path) -> None:
    lines = ["graph ccg {", f"  // iri {_dot_text(onto.header.iri)}", "  node [shape=ellipse];"]
    lines += [
        f"  {n.index} [label={_dot_text(n.abbr)}{', shape=box' if n.root else ''}];" for n in onto.nodes
    ]
    lines += [f'  {edge.source} -- {edge.target} [label="{edge.kind}"];' for edge in onto.relations]
    path.write_text("\n".join([*lines, "}", ""]), encoding="utf-8")


def _dot_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


_WRITERS: dict[str, Callable[[Ontology, Path], None]] = {
    ".npz": _npz,
    ".safetensors": _safetensors,
    ".json": Ontology.save,
    ".csv": _csv,
    **dict.fromkeys((".ttl", ".owl", ".nt", ".jsonld", ".obo"), _graph),
    ".dot": _dot,
    ".fhir": write_fhir,
}

_VIEWS: dict[str, tuple[Callable[[Ontology], str], Callable[[Ontology], str]]] = {
    ".skos.ttl": (skos_text, skos_mark),
    ".sssom.tsv": (routing_text, sssom_mark),
}
"""Texts for other programs, each with the line by which an export knows its own."""
