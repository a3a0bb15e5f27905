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
from ecg_ontology.errors import EcgError, UsageError
from ecg_ontology.fhir import FILE
from ecg_ontology.files import read_text, refuse_others
from ecg_ontology.ontology import Ontology

NODES_HEADER = ("index", "abbr", "label", "tier", "iri")
"""First row of ``nodes.csv`` in a folder of tables."""
TABLES = ("nodes.csv", "edges.csv", "routing.csv", "distances.csv", "a_hat.csv")

_REMEDY = "Name a new file, or remove that one first"
_OTHERS = (EcgError, OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, StopIteration)
_NOT_OURS = (*_OTHERS, csv.Error, zipfile.BadZipFile)
"""What reading somebody's file as one of ours ends in."""
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
    ending = ".fhir" if out.name == "fhir" else out.suffix
    if ending in _FOLDERS:
        is_ours, content = _FOLDERS[ending]
        refuse_others(out, is_ours)
        ours = (onto.header.iri, *(node.iri for node in onto.nodes))
        if any(out.iterdir()) and names_in(out, ending).isdisjoint(ours):
            problem = f"holds other {content}, which would be lost"
            raise UsageError(problem, where=out, remedy="Name a new folder")
        return
    if not out.is_file():
        raise UsageError("isn't a file", where=out, remedy=_REMEDY)
    names = names_in(out, ending)
    if onto.header.iri not in names:
        what = f"is the ontology {min(names)}" if any(names) else "isn't an export of an ontology"
        raise UsageError(f"{what}, and would be lost", where=out, remedy=_REMEDY)
    if ending == ".ttl" and (comments := turtle_comments(read_text(out))):
        line, text = comments[0]
        problem = (
            f"has {len(comments)} comments, which would be lost; the first is in line {line}: {text[:60]}"
        )
        remedy = "State them as rdfs:comment, which is kept, or name a new file"
        raise UsageError(problem, where=out, remedy=remedy)


def names_in(path: Path, ending: str) -> set[str]:
    """Return the IRIs by which a file or a folder of this ending says whose it is; none where it doesn't."""
    try:
        return _NAMES[ending](path)
    except _NOT_OURS:
        return set()


def turtle_comments(text: str) -> list[tuple[int, str]]:
    """Return the comments of a Turtle text, each with its line."""
    matches = (match for match in _TURTLE_TOKEN.finditer(text) if match["comment"])
    return [(text.count("\n", 0, match.start()) + 1, match["comment"].rstrip()) for match in matches]


def _in_graph(path: Path) -> set[str]:
    from ecg_ontology.sources import read_source

    return {read_source(path).header.iri}


def _in_arrays(path: Path) -> set[str]:
    with np.load(path) as arrays:
        return {str(arrays["iri"])}


def _in_head(path: Path) -> set[str]:
    """What the head of a file states in quotes after the word iri."""
    with path.open("rb") as file:
        stated = re.search(rb'\biri\W{1,4}"([^"]+)"', file.read(1 << 14))
    return {stated[1].decode()} if stated else set()


def _in_json_ld(path: Path) -> set[str]:
    nodes = json.loads(read_text(path))["@graph"]
    return {str(node["@id"]) for node in nodes if "owl:Ontology" in str(node.get("@type"))}


def _in_nodes(folder: Path) -> set[str]:
    return {row["iri"] for row in csv.DictReader(read_text(folder / "nodes.csv").splitlines())}


def _in_code_systems(folder: Path) -> set[str]:
    return {str(json.loads(read_text(path))["url"]) for path in folder.glob("CodeSystem-*.json")}


_NAMES: dict[str, Callable[[Path], set[str]]] = {
    ".npz": _in_arrays,
    ".json": lambda path: {read_bundle(path).header.iri},
    ".jsonld": _in_json_ld,
    ".csv": _in_nodes,
    ".fhir": _in_code_systems,
    **dict.fromkeys((".safetensors", ".dot"), _in_head),
    **dict.fromkeys((".ttl", ".owl", ".nt", ".obo"), _in_graph),
}
_FOLDERS: dict[str, tuple[Callable[[str], object], str]] = {
    ".csv": (TABLES.__contains__, "tables"),
    ".fhir": (FILE.fullmatch, "resources"),
}
"""Which names the files of an export have, and what they are."""
