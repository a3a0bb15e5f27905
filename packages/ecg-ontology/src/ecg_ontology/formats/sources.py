"""Read the sources of an ontology: an RDF graph, a folder with a graph and its tables, or a bundle.

The result is a draft, the unchecked content of the ontology.
"""

import csv
import io
import re
from pathlib import Path

from ecg_base import refuse_pipe
from ecg_ontology.base.errors import SourceError
from ecg_ontology.base.reading import read_text
from ecg_ontology.formats.bundle import read_bundle
from ecg_ontology.formats.rdf_reader import read_errata, read_graph
from ecg_ontology.formats.rdf_writer import RDF_FORMATS
from ecg_ontology.formats.sssom import read_head, read_sssom
from ecg_ontology.formats.transaction import finish
from ecg_ontology.graph.drafts import BASE_TABLE, Draft, RoutingRow
from ecg_ontology.graph.enumeration import parse_lock

LOCK = "enumeration.lock"
ERRATA = "errata.ttl"
OFFICIAL = "challenge.tsv"
SHAPES = "shapes.ttl"
EXTENDS = "extends.txt"
"""Name of a file in a folder of sources. It has the path of another folder, which the sources extend."""
_COMPANIONS = {SHAPES, ERRATA}
_ENDINGS = "|".join(map(re.escape, RDF_FORMATS))
_UNREAD = re.compile(rf"(?i)routing|.*sssom|(?!.*(?-i:{_ENDINGS})$)[^.].*({_ENDINGS})$")
"""Names of files that look like tables or graphs but aren't read, for example because of a capital letter."""


def read_source(source: Path) -> Draft:
    """Read a folder of sources, a file of a graph (without routing), or a bundle.

    A folder must contain one file with the graph (``.ttl``, ``.owl``, ``.rdf`` or ``.nt``). It may also
    contain:

    - ``routing.sssom.tsv``: the base table, which assigns codes to concepts.
    - ``routing.paper.sssom.tsv``, ``routing.curated.sssom.tsv``: rows that replace rows of the base table if
      the ontology is loaded with the profile ``paper`` or ``curated``.
    - ``routing.<name>.sssom.tsv``: codes of further vocabularies.
    - ``crosswalk.<name>.sssom.tsv``: codes that are exported, but never used for training targets.
    - ``challenge.tsv``: the official codes and labels of the CinC Challenges.
    - ``enumeration.lock``: the numbered concepts, edges and codes of the released version.
    - ``errata.ttl``, ``shapes.ttl``: contradictions in the paper, and SHACL shapes.
    - ``extends.txt``: path of a folder that this folder extends. If this folder has rows for a code, the
      other folder's rows for the code are ignored.

    Raises `SourceError` if the source can't be read.
    """
    if source.is_dir():
        return _read_folder(source)
    if not source.exists():
        remedy = "Give a folder of sources, .ttl, .owl, .nt or .json"
        raise SourceError("doesn't exist", where=source, remedy=remedy)
    refuse_pipe(source, "Give a folder of sources, or a file", SourceError)
    if source.suffix == ".json":
        return read_bundle(source)
    if source.suffix not in RDF_FORMATS:
        endings = ", ".join((*RDF_FORMATS, ".json"))
        problem = f"must end in {endings}"
        raise SourceError(problem, where=source, remedy="Give a folder of sources, or such a file")
    return read_graph(source)


def graph_file(folder: Path) -> Path:
    """Return the file of the graph in a folder. Raises `SourceError` unless there is exactly one."""
    graphs = [
        path
        for path in _listed(folder)
        if path.suffix in RDF_FORMATS and path.name not in _COMPANIONS and not path.name.startswith(".")
    ]
    if len(graphs) != 1:
        names = ", ".join(path.name for path in graphs) or "none"
        problem = f"must have one graph, got {names}"
        raise SourceError(problem, where=folder, remedy="Keep a single .ttl, .owl or .nt file")
    return graphs[0]


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise SourceError(f"cannot be listed ({error.strerror})", where=folder) from error


def _read_folder(folder: Path) -> Draft:
    draft = _read_own(folder)
    return _extended(folder, draft) if (folder / EXTENDS).exists() else draft


def _extended(folder: Path, draft: Draft) -> Draft:
    """Return the draft of a folder together with the draft of the folder that it extends."""
    place = folder / EXTENDS
    name = read_text(place).strip()
    other = folder / name
    if not name or not other.is_dir() or (other / EXTENDS).exists():
        problem = f"must name a folder of sources without its own {EXTENDS}, got {name!r}"
        remedy = "Write only the path of the folder to extend, such as .."
        raise SourceError(problem, where=place, remedy=remedy)
    base = _read_own(other)
    routed = {row.code for row in draft.mappings}
    crossed = {row.code for row in draft.crosswalks}
    own = {concept.iri for concept in draft.concepts}
    return draft.model_copy(
        update={
            "concepts": (*(concept for concept in base.concepts if concept.iri not in own), *draft.concepts),
            "relations": (*base.relations, *draft.relations),
            "mappings": (*(row for row in base.mappings if row.code not in routed), *draft.mappings),
            "crosswalks": (*(row for row in base.crosswalks if row.code not in crossed), *draft.crosswalks),
            "official": base.official | draft.official,
            "abbreviations": base.abbreviations | draft.abbreviations,
            "errata": (*base.errata, *draft.errata),
            "shapes": draft.shapes or base.shapes,
            "statements": (*base.statements, *draft.statements),
            "misstatements": (*base.misstatements, *draft.misstatements),
        }
    )


def _read_own(folder: Path) -> Draft:
    finish(folder)
    base, tables = read_graph(graph_file(folder)), _tables(folder)
    crosswalks = sorted(folder.glob("crosswalk.*.sssom.tsv"))
    names = [path.name for path in _listed(folder) if path not in (*tables, *crosswalks)]
    shapes, lock = folder / SHAPES, folder / LOCK
    official, abbreviations = _read_official(folder / OFFICIAL)
    return base.model_copy(
        update={
            "tables": {path.name: read_head(path) for path in (*tables, *crosswalks)},
            "mappings": tuple(
                row for path in tables for row in read_sssom(path, _table_name(path), base.concepts)
            ),
            "crosswalks": tuple(row for path in crosswalks for row in _read_crosswalk(path, base)),
            "official": official,
            "abbreviations": abbreviations,
            "lock": parse_lock(read_text(lock), LOCK) if lock.exists() else None,
            "errata": read_errata(folder / ERRATA) if (folder / ERRATA).exists() else (),
            "shapes": read_text(shapes) if shapes.exists() else "",
            "unread": tuple(name for name in names if _UNREAD.match(name)),
        }
    )


def _tables(folder: Path) -> list[Path]:
    """Return the routing tables. The base table comes first, because it determines the order of the codes."""
    return sorted(
        folder.glob("routing*.sssom.tsv"), key=lambda path: (_table_name(path) != BASE_TABLE, path.name)
    )


def _table_name(path: Path) -> str:
    return path.name.removesuffix(".sssom.tsv").removeprefix("routing").removeprefix(".") or BASE_TABLE


def _read_crosswalk(path: Path, draft: Draft) -> tuple[RoutingRow, ...]:
    """Return the rows of a crosswalk. Each row must have the regime crosswalk."""
    rows = read_sssom(path, _table_name(path), draft.concepts)
    for row in rows:
        if not row.crosswalk:
            remedy = "Write it to the column other, or rename the table to routing.<name>.sssom.tsv"
            raise SourceError(f"{row.code} must have regime: crosswalk", where=row.place, remedy=remedy)
    return rows


def _read_official(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    if not path.exists():
        return {}, {}
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), delimiter="\t", restval="")
    if not {"code", "label"} <= set(reader.fieldnames or ()):
        raise SourceError("has no columns code and label", where=path)
    official: dict[str, str] = {}
    abbreviations: dict[str, str] = {}
    for row in reader:
        if official.setdefault(row["code"], row["label"]) != row["label"]:
            problem = f"{row['code']} must have one label, got {official[row['code']]!r} and {row['label']!r}"
            remedy = "Keep the official label"
            raise SourceError(problem, where=f"{path.name}:{reader.line_num}", remedy=remedy)
        if short := row.get("abbreviation"):
            abbreviations[row["code"]] = short
    return official, abbreviations
