"""What an export may replace: what an export wrote, of the same ontology.

A file of the same name may be anybody's work. It is looked into before it is replaced.
"""

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ecg_ontology.bundle import read_bundle
from ecg_ontology.drafts import Draft
from ecg_ontology.errors import EcgError, UsageError
from ecg_ontology.fhir import FILE
from ecg_ontology.files import read_text, refuse_others
from ecg_ontology.ontology import Ontology

NODES_HEADER = ("index", "abbr", "label", "tier", "iri")
"""First row of ``nodes.csv`` in a folder of tables."""
TABLES = ("nodes.csv", "edges.csv", "routing.csv", "distances.csv", "a_hat.csv")

_REMEDY = "Name a new file, or remove that one first"
_TURTLE_TOKEN = re.compile(
    r'"{3}(?:[^"\\]|\\.|"(?!""))*"{3}|\'{3}(?:[^\'\\]|\\.|\'(?!\'\'))*\'{3}'  # long literals
    r'|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\''
    r"|<[^>]*>|\\#"
    r"|(?P<comment>#[^\n]*)",
    re.DOTALL,
)


def refuse_foreign(onto: Ontology, out: Path) -> None:
    """See that nothing stands at `out`, or what an export of this ontology wrote there.

    Raises:
        UsageError: something else is there, and would be lost.
        OutputError: a folder is there that can't be listed.
    """
    if not out.exists():
        return
    if out.suffix == ".csv":
        refuse_others(out, TABLES.__contains__)
        if any(out.iterdir()) and not _has_nodes(out):
            raise UsageError("holds other tables, which would be lost", where=out, remedy="Name a new folder")
        return
    if out.suffix == ".fhir" or out.name == "fhir":
        refuse_others(out, FILE.fullmatch)
        if any(out.iterdir()) and onto.header.iri not in _fhir_urls(out):
            raise UsageError("holds others' resources", where=out, remedy="Name a new folder")
        return
    if not out.is_file():
        raise UsageError("is no file", where=out, remedy=_REMEDY)
    if out.suffix in _SAME_KIND and not _SAME_KIND[out.suffix](out):
        raise UsageError("is no export of an ontology, and would be lost", where=out, remedy=_REMEDY)
    iri = _IRIS[out.suffix](out) if out.suffix in _IRIS else onto.header.iri
    if iri != onto.header.iri:
        found = f"is the ontology {iri}" if iri else "is no ontology"
        raise UsageError(f"{found}, and would be lost", where=out, remedy=_REMEDY)
    if out.suffix == ".ttl" and (comments := turtle_comments(read_text(out))):
        line, text = comments[0]
        raise UsageError(
            f"has {len(comments)} comments, which would be lost; the first is in line {line}: {text[:60]}",
            where=out,
            remedy="State them as rdfs:comment, which is kept, or name a new file",
        )


def refuse_unmarked(out: Path, mark: str) -> None:
    """See that nothing stands at `out`, or a text that begins with the mark of an export.

    Raises:
        UsageError: something else is there, and would be lost.
    """
    if out.exists() and not (out.is_file() and read_text(out).startswith(mark)):
        raise UsageError("is no export of this ontology, and would be lost", where=out, remedy=_REMEDY)


def turtle_comments(text: str) -> list[tuple[int, str]]:
    """Return the comments of a Turtle text, each with its line.

    Example:
        >>> turtle_comments('<#a> <#b> "no # comment" . # why')
        [(1, '# why')]
    """
    found = (match for match in _TURTLE_TOKEN.finditer(text) if match["comment"])
    return [(text.count("\n", 0, match.start()) + 1, match["comment"].rstrip()) for match in found]


def bundle_draft(path: Path) -> Draft | None:
    """Return what a bundle holds; None where the file isn't one."""
    try:
        return read_bundle(path)
    except EcgError:
        return None


def _bundle_iri(path: Path) -> str:
    draft = bundle_draft(path)
    return draft.header.iri if draft else ""


def _graph_iri(path: Path) -> str:
    from ecg_ontology.sources import read_source

    try:
        return read_source(path).header.iri
    except EcgError:
        return ""


def _has_nodes(folder: Path) -> bool:
    try:
        return read_text(folder / "nodes.csv").startswith(",".join(NODES_HEADER))
    except EcgError:
        return False


def _fhir_urls(folder: Path) -> list[str]:
    """Names of the code systems in a folder."""
    try:
        return [str(json.loads(read_text(path))["url"]) for path in folder.glob("CodeSystem-*.json")]
    except (EcgError, ValueError, LookupError, TypeError):
        return []


def _is_npz(path: Path) -> bool:
    try:
        with np.load(path) as arrays:
            return {"distances", "a_hat", "sha256"} <= set(arrays.files)
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile):
        return False


def _is_safetensors(path: Path) -> bool:
    with path.open("rb") as file:
        return b'"a_hat"' in file.read(4096)


def _is_dot(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(11) == b"graph ccg {"


def _json_ld_iri(path: Path) -> str:
    """The name of the ontology in a JSON-LD file; "" where it states none."""
    try:
        nodes = json.loads(read_text(path))["@graph"]
        return next(str(node["@id"]) for node in nodes if "owl:Ontology" in str(node.get("@type")))
    except (EcgError, ValueError, LookupError, TypeError, AttributeError, StopIteration):
        return ""


_SAME_KIND: dict[str, Callable[[Path], bool]] = {
    ".npz": _is_npz,
    ".safetensors": _is_safetensors,
    ".dot": _is_dot,
}
_IRIS: dict[str, Callable[[Path], str]] = {
    ".json": _bundle_iri,
    ".ttl": _graph_iri,
    ".owl": _graph_iri,
    ".nt": _graph_iri,
    ".jsonld": _json_ld_iri,
    ".obo": _graph_iri,
}
