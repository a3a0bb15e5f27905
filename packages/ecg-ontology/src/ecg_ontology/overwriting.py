"""What an export may replace: what an export wrote, of the same ontology.

A file of the same name may be anybody's work. It is looked into before it is replaced.
"""

import csv
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
        if any(out.iterdir()) and not _has_nodes(out, onto):
            raise UsageError("holds other tables, which would be lost", where=out, remedy="Name a new folder")
        return
    if out.suffix == ".fhir" or out.name == "fhir":
        refuse_others(out, FILE.fullmatch)
        if any(out.iterdir()) and onto.header.iri not in _fhir_urls(out):
            raise UsageError("holds others' resources", where=out, remedy="Name a new folder")
        return
    if not out.is_file():
        raise UsageError("isn't a file", where=out, remedy=_REMEDY)
    iri = _IRIS[out.suffix](out) if out.suffix in _IRIS else onto.header.iri
    if iri != onto.header.iri:
        what = f"is the ontology {iri}" if iri else "isn't an export of an ontology"
        raise UsageError(f"{what}, and would be lost", where=out, remedy=_REMEDY)
    if out.suffix == ".ttl" and (comments := turtle_comments(read_text(out))):
        line, text = comments[0]
        raise UsageError(
            f"has {len(comments)} comments, which would be lost; the first is in line {line}: {text[:60]}",
            where=out,
            remedy="State them as rdfs:comment, which is kept, or name a new file",
        )


def turtle_comments(text: str) -> list[tuple[int, str]]:
    """Return the comments of a Turtle text, each with its line.

    Example:
        >>> turtle_comments('<#a> <#b> "no # comment" . # why')
        [(1, '# why')]
    """
    matches = (match for match in _TURTLE_TOKEN.finditer(text) if match["comment"])
    return [(text.count("\n", 0, match.start()) + 1, match["comment"].rstrip()) for match in matches]


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


def _has_nodes(folder: Path, onto: Ontology) -> bool:
    """Whether the table of nodes in a folder lists one of this ontology."""
    try:
        rows = csv.DictReader(read_text(folder / "nodes.csv").splitlines())
        return not {row.get("iri") for row in rows}.isdisjoint(node.iri for node in onto.nodes)
    except (EcgError, csv.Error):
        return False


def _fhir_urls(folder: Path) -> list[str]:
    """Names of the code systems in a folder."""
    try:
        return [str(json.loads(read_text(path))["url"]) for path in folder.glob("CodeSystem-*.json")]
    except (EcgError, ValueError, LookupError, TypeError):
        return []


def _npz_iri(path: Path) -> str:
    try:
        with np.load(path) as arrays:
            return str(arrays["iri"])
    except (OSError, ValueError, KeyError, EOFError, AttributeError, zipfile.BadZipFile):
        return ""


def _named_iri(path: Path) -> str:
    """The name that the head of a file states in quotes after the word iri."""
    with path.open("rb") as file:
        stated = re.search(rb'\biri\W{1,4}"([^"]+)"', file.read(1 << 14))
    return stated[1].decode(errors="replace") if stated else ""


def _json_ld_iri(path: Path) -> str:
    """The name of the ontology in a JSON-LD file; "" where it states none."""
    try:
        nodes = json.loads(read_text(path))["@graph"]
        return next(str(node["@id"]) for node in nodes if "owl:Ontology" in str(node.get("@type")))
    except (EcgError, ValueError, LookupError, TypeError, AttributeError, StopIteration):
        return ""


_IRIS: dict[str, Callable[[Path], str]] = {
    ".npz": _npz_iri,
    ".safetensors": _named_iri,
    ".dot": _named_iri,
    ".json": _bundle_iri,
    ".ttl": _graph_iri,
    ".owl": _graph_iri,
    ".nt": _graph_iri,
    ".jsonld": _json_ld_iri,
    ".obo": _graph_iri,
}
