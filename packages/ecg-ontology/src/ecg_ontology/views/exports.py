"""Exports for other programs, by the file's ending: arrays, tables, RDF, a drawing language."""

import csv
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from ecg_base import (
    EcgError,
    UsageError,
    guarded,
    optional,
    refuse_others,
    refuse_unmarked,
    replacing,
    write_text,
)
from ecg_ontology.base.reading import read_text
from ecg_ontology.formats.sources import read_source
from ecg_ontology.ontology import Ontology
from ecg_ontology.views.class_view import classes_json, classes_xml
from ecg_ontology.views.fhir import FILE, write_fhir
from ecg_ontology.views.vocabulary_exports import routing_text, skos_text

TABLES = ("nodes.csv", "edges.csv", "routing.csv", "distances.csv", "a_hat.csv")
_FOLDERS: dict[str, tuple[Callable[[str], object], str]] = {
    ".csv": (TABLES.__contains__, "nodes.csv"),
    ".fhir": (FILE.fullmatch, "CodeSystem-*.json"),
}
"""Which names the files of an export have, and which of them say whose it is."""
_READ_AGAIN = (".json", ".ttl", ".owl", ".nt", ".obo")
"""The forms that `read_source` reads."""
_HEAD = rb'\biri\W{1,4}"([^"]+)"'
_STATED = {".safetensors": _HEAD, ".dot": _HEAD, ".csv": rb'[^\s"<>,]+', ".fhir": rb'"url"\s*:\s*"([^"]+)"'}
"""Where the other texts state an IRI as their own."""
_TURTLE_TOKEN = re.compile(
    r'"{3}(?:[^"\\]|\\.|"(?!""))*"{3}|\'{3}(?:[^\'\\]|\\.|\'(?!\'\'))*\'{3}'  # long literals
    r'|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\''
    r"|<[^>]*>|\\#"
    r"|(?P<comment>#[^\n]*)",
    re.DOTALL,
)


def export(onto: Ontology, out: str | Path, language: str = "en") -> Path:
    """Write `onto` in the form that the ending of `out` names.

    ========================  =============================================================================
    ``.npz``                  distances, adjacency, a_hat, abbr, root; sha256 and iri as string arrays
    ``.safetensors``          distances, adjacency, a_hat; iri, abbr, sha256 as metadata (``[safetensors]``)
    ``.json``                 the bundle, which `ecg_ontology.load` reads
    ``.csv``                  a folder of that name: nodes, edges, routing, distances, a_hat
    ``.ttl`` ``.owl`` ``.nt``  the graph as canonical Turtle, RDF/XML, N-Triples
    ``.obo``                  the graph as OBO 1.4
    ``.skos.ttl``             the concepts as a SKOS scheme, codes as mappings
    ``.classes.owl``          the concepts as OWL classes in a tree, for tools that look for subClassOf
    ``.classes.jsonld``       the same as JSON-LD
    ``.sssom.tsv``            the rows that hold in the profile as one SSSOM table
    ``.fhir``, ``fhir``       a folder of that name or ending: FHIR R4 CodeSystem, ValueSets, ConceptMaps
    ``.dot``                  the graph for Graphviz
    ``.html``                 a page to search and read in a browser, without a network
    ========================  =============================================================================

    A file or folder that names the ontology as an export does is replaced; nothing else is.

    Args:
        onto: in the profile to be written.
        out: a path whose ending is in the table.
        language: of the page's labels, English where there is none; the other forms have all languages.

    Returns:
        The path that was written.

    Raises:
        UsageError: no form has this ending, something else is there, or the form has no language.
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
    if suffix == ".html":
        from ecg_ontology.views.browse import write_page

        return write_page(onto, out, language)
    if language != "en":
        remedy = "Leave the language out, or write .html"
        raise UsageError(f"{suffix} takes no language", where=out, remedy=remedy)
    if two not in _VIEWS and suffix not in _WRITERS:
        endings = ", ".join((*_WRITERS, *_VIEWS, ".html"))
        problem = f"no form has the ending {out.suffix!r}"
        raise UsageError(problem, where=out, remedy=f"Choose one of {endings}")
    if two in _VIEWS:
        text = _VIEWS[two](onto)
        mark = _MARKS[two].format(onto.header.iri) if two in _MARKS else text.partition("\n")[0]
        refuse_unmarked(out, mark.encode())
        write_text(out, text)
        return out
    _refuse_foreign(onto, out, suffix)
    with replacing(out) as temporary:
        _WRITERS[suffix](onto, temporary)
    return out


def _refuse_foreign(onto: Ontology, out: Path, ending: str) -> None:
    """See that nothing stands at `out`, or what names this ontology and holds no comments to be lost."""
    if not out.exists():
        return
    names, remedy = {onto.header.iri}, "Name a new file, or remove that one first"
    witnesses = [out]
    if ending in _FOLDERS:
        is_ours, pattern = _FOLDERS[ending]
        refuse_others(out, is_ours)
        names |= {node.iri for node in onto.nodes}
        witnesses = list(out.glob(pattern))
    elif not out.is_file():
        raise UsageError("isn't a file", where=out, remedy=remedy)
    if not any(names & _named_in(witness, ending) for witness in witnesses):
        problem = f"isn't an export of {onto.header.iri}, and would be lost"
        raise UsageError(problem, where=out, remedy=remedy)
    if ending == ".ttl" and (comments := turtle_comments(read_text(out))):
        line, text = comments[0]
        problem = f"has {len(comments)} comments, which would be lost; the first, in line {line}: {text[:60]}"
        remedy = "State them as rdfs:comment, which is kept, or name a new file"
        raise UsageError(problem, where=out, remedy=remedy)


def _named_in(path: Path, ending: str) -> set[str]:
    try:
        if ending in _READ_AGAIN:
            return {read_source(path).header.iri}
        if ending == ".npz":
            with np.load(path) as arrays:
                return {str(arrays["iri"])}
    except (EcgError, OSError, ValueError, LookupError, EOFError, BadZipFile, AttributeError):  # others' work
        return set()
    return {iri.decode(errors="replace") for iri in re.findall(_STATED[ending], path.read_bytes())}


def turtle_comments(text: str) -> list[tuple[int, str]]:
    """Return the comments of a Turtle text with their lines."""
    matches = (match for match in _TURTLE_TOKEN.finditer(text) if match["comment"])
    return [(text.count("\n", 0, match.start()) + 1, match["comment"].rstrip()) for match in matches]


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
        (("index", "abbr", "label", "tier", "iri"), nodes),
        (("kind", "source", "target"), edges),
        (("code", "label", "status", "nodes"), routes),
        (abbr, onto.distances.tolist()),
        (abbr, onto.a_hat.tolist()),
    )
    for name, (header, rows) in zip(TABLES, tables, strict=True):
        with (path / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(map(guarded, header))
            writer.writerows(map(guarded, row) for row in rows)


def _graph(onto: Ontology, path: Path) -> None:
    from ecg_ontology.formats.obo_text import obo_text
    from ecg_ontology.formats.rdf_writer import rdf_text

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
    **dict.fromkeys((".ttl", ".owl", ".nt", ".obo"), _graph),
    ".dot": _dot,
    ".fhir": write_fhir,
}

_VIEWS: dict[str, Callable[[Ontology], str]] = {
    ".skos.ttl": skos_text,
    ".sssom.tsv": routing_text,
    ".classes.owl": classes_xml,
    ".classes.jsonld": classes_json,
}
"""Texts for other programs."""
_MARKS = {".classes.owl": "{}", ".classes.jsonld": '"@id": "{}"'}
"""What tells that a text of such an ending, whose first line any file may have, is the ontology's."""
