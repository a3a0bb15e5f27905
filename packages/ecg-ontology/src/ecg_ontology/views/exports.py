"""Export an ontology for other programs, by file suffix: arrays, RDF, mappings, a page, a picture."""

import re
from collections.abc import Callable
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from ecg_base import (
    EcgError,
    UsageError,
    refuse_others,
    refuse_unmarked,
    replacing,
    write_text,
)
from ecg_ontology.base.reading import read_text
from ecg_ontology.formats.sources import read_source
from ecg_ontology.ontology import Ontology
from ecg_ontology.views.fhir import FILE, write_fhir
from ecg_ontology.views.figures import ENDINGS as PICTURES
from ecg_ontology.views.routing_export import routing_text

_READ_AGAIN = (".json", ".ttl", ".owl", ".nt")
"""Suffixes of formats that `read_source` reads."""
_URL = rb'"url"\s*:\s*"([^"]+)"'
"""Pattern of the IRI in a FHIR resource."""
_TURTLE_TOKEN = re.compile(
    r'"{3}(?:[^"\\]|\\.|"(?!""))*"{3}|\'{3}(?:[^\'\\]|\\.|\'(?!\'\'))*\'{3}'  # long literals
    r'|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\''
    r"|<[^>]*>|\\#"
    r"|(?P<comment>#[^\n]*)",
    re.DOTALL,
)


def export(onto: Ontology, out: str | Path, language: str = "en") -> Path:
    """Write an ontology in the format of the suffix of `out`.

    ====================  =================================================================================
    ``.npz``              distances, adjacency, a_hat, abbr, root (true for families), sha256, iri
    ``.json``             the bundle, which `ecg_ontology.load` reads
    ``.ttl .owl .nt``     the graph as canonical Turtle, RDF/XML, N-Triples
    ``.sssom.tsv``        the codes and concepts of the profile, as a single SSSOM table
    ``.fhir``, ``fhir``   a folder with this ending or name: FHIR R4 CodeSystem, ValueSets, ConceptMaps
    ``.html``             a page to search and read in a browser, without a network
    ``.svg .png .pdf``    a picture of the graph (extra ``draw``)
    ====================  =================================================================================

    An existing file is replaced only if it is an earlier export of the same ontology. A page or a picture may
    also be an export of another ontology.

    Args:
        onto: ontology, loaded with the profile to write (``paper`` or ``curated``).
        out: path with a suffix from the table.
        language: language of the labels on the page. Missing translations are in English. The bundle and
            the graph contain all languages.

    Returns:
        The path that was written.

    Raises:
        UsageError: the suffix is unknown, the path exists and isn't such an export or is a Turtle file with
            comments, or a language is given for another format than ``.html``.
        OutputError: the file can't be written.

    Example:
        >>> import ecg_ontology, tempfile
        >>> out = Path(tempfile.mkdtemp()) / "ccg.npz"
        >>> _ = ecg_ontology.export(ecg_ontology.load(), out)
        >>> np.load(out)["distances"].shape
        (40, 40)
    """
    out = Path(out)
    form = ".fhir" if out.name == "fhir" else out.suffix
    form = ".sssom.tsv" if out.name.endswith(".sssom.tsv") else form
    if form == ".html":
        from ecg_ontology.views.browse import write_page

        return write_page(onto, out, language)
    if language != "en":
        remedy = "Omit the language, or write .html"
        raise UsageError(f"a language needs the format .html, got {form}", where=out, remedy=remedy)
    if form in PICTURES:
        from ecg_ontology.views.draw import draw_graph

        return draw_graph(onto, out)
    if form == ".sssom.tsv":
        text = routing_text(onto)
        refuse_unmarked(out, text.partition("\n")[0].encode())
        write_text(out, text)
        return out
    if form not in _WRITERS:
        endings = ", ".join((*_WRITERS, ".sssom.tsv", ".html", *PICTURES))
        problem = f"unknown ending {out.suffix!r}"
        raise UsageError(problem, where=out, remedy=f"Choose from {endings}")
    _refuse_foreign(onto, out, form)
    with replacing(out) as temporary:
        _WRITERS[form](onto, temporary)
    return out


def _refuse_foreign(onto: Ontology, out: Path, ending: str) -> None:
    """Raise `UsageError` if writing to `out` would destroy another file, or comments that a user added."""
    if not out.exists():
        return
    remedy = "Choose a new file, or remove this file first"
    witnesses = [out]
    if ending == ".fhir":
        refuse_others(out, FILE.fullmatch)
        witnesses = list(out.glob("CodeSystem-*.json"))
    elif not out.is_file():
        raise UsageError("isn't a file", where=out, remedy=remedy)
    if not any(onto.header.iri in _named_in(witness, ending) for witness in witnesses):
        problem = f"isn't an export of {onto.header.iri}, and would be lost"
        raise UsageError(problem, where=out, remedy=remedy)
    if ending == ".ttl" and (comments := turtle_comments(read_text(out))):
        line, text = comments[0]
        problem = f"{len(comments)} comments would be lost, for example in line {line}: {text[:60]}"
        remedy = "Write them as rdfs:comment, which is preserved, or choose a new file"
        raise UsageError(problem, where=out, remedy=remedy)


def _named_in(path: Path, ending: str) -> set[str]:
    """Return the IRIs of the ontology in an earlier export, or an empty set for another kind of file."""
    try:
        if ending in _READ_AGAIN:
            return {read_source(path).header.iri}
        if ending == ".npz":
            with np.load(path) as arrays:
                return {str(arrays["iri"])}
    except (EcgError, OSError, ValueError, LookupError, EOFError, BadZipFile, AttributeError):  # not ours
        return set()
    return {iri.decode(errors="replace") for iri in re.findall(_URL, path.read_bytes())}


def turtle_comments(text: str) -> list[tuple[int, str]]:
    """Return the comments of a Turtle text with their line numbers."""
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


def _graph(onto: Ontology, path: Path) -> None:
    from ecg_ontology.formats.rdf_writer import rdf_text

    path.write_text(rdf_text(onto.draft, path.suffix), encoding="utf-8")


_WRITERS: dict[str, Callable[[Ontology, Path], None]] = {
    ".npz": _npz,
    ".json": Ontology.save,
    **dict.fromkeys((".ttl", ".owl", ".nt"), _graph),
    ".fhir": write_fhir,
}
