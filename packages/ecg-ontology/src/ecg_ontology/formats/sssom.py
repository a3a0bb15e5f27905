"""Read and write routing tables as SSSOM/TSV, the Simple Standard for Sharing Ontological Mappings.

A table has a row per code and node. If no node can represent a code, the code has a single row to
``sssom:NoTermFound`` with the reason as comment. The column ``other`` has the regime (type of routing, see
`Regime`) as ``regime: …``.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ecg_ontology.base.errors import SourceError
from ecg_ontology.base.reading import read_text
from ecg_ontology.graph.concepts import Regime
from ecg_ontology.graph.drafts import DraftConcept, RoutingRow, TableHead
from ecg_ontology.graph.routing import BUILT_IN, SNOMED_IRIS, canonical_code, regime_of

SNOMED = "snomedct"
"""Prefix of SNOMED CT identifiers in tables. In the program, these codes have no prefix."""
NO_TERM = "sssom:NoTermFound"
MAPPING_COLUMNS = (
    "subject_id",
    "subject_label",
    "predicate_id",
    "object_id",
    "object_label",
    "mapping_justification",
    "mapping_source",
    "other",
    "comment",
)
REQUIRED = ("subject_id", "predicate_id", "object_id", "mapping_justification")
"""Columns that SSSOM requires."""
TRANSLATING = ("skos:exactMatch", "skos:closeMatch", "skos:broadMatch", "owl:equivalentClass")
"""Predicates with which the object code may replace the subject code."""
AUTHOR = "author_label"
DATE = "mapping_date"
MANUAL = "semapv:ManualMappingCuration"
_REGIME = "regime: "
_REGIMES = {regime.value: regime for regime in Regime}
_OVERRIDE = "; override: "
_VERSION_SLOT = "mapping_set_version"


def read_sssom(
    path: Path, table: str, concepts: Iterable[DraftConcept] = (), text: str | None = None
) -> tuple[RoutingRow, ...]:
    """Read a routing table. Raises `SourceError` with the line of the problem.

    Only the columns that SSSOM requires are needed. If the regime isn't stated, it is derived from the nodes.
    Nodes may have the short name of the ontology as prefix, even if the file doesn't declare it, for example
    ``lung:COPD`` for ``https://example.org/lung#COPD``.

    Args:
        path: file of the table.
        table: name of the table, such as ``base`` or ``curated``.
        concepts: concepts of the graph, from whose tiers the regime is derived.
        text: text to read instead of the file, for a table that is not yet written.
    """
    head, rows = _table(path, read_text(path) if text is None else text)
    tiers = {concept.iri: concept.tier for concept in concepts}
    prefixes = {**BUILT_IN, **short_names(tiers), **curie_map(head)}
    nodes: dict[str, list[str | None]] = {}
    read = []
    for row, place in rows:
        code = code_of(row["subject_id"], prefixes)
        node = None if row["object_id"] == NO_TERM else _expand(row["object_id"], prefixes, place)
        nodes.setdefault(code, []).append(node)
        read.append((row, place, code, node))
    return tuple(
        RoutingRow(
            code=code,
            label=row.get("subject_label", ""),
            predicate=row["predicate_id"],
            modifier=row.get("predicate_modifier", ""),
            node=node,
            node_label=row.get("object_label", ""),
            regime=_regime(row.get("other", ""), place) or regime_of(nodes[code], tiers),
            override=override_of(row.get("other", "")),
            confidence=row.get("confidence", ""),
            reason=row.get("comment", ""),
            source=row.get("mapping_source", ""),
            justification=row["mapping_justification"],
            author=row.get(AUTHOR, ""),
            date=row.get(DATE, ""),
            table=table,
            place=place,
        )
        for row, place, code, node in read
    )


def read_head(path: Path, text: str | None = None) -> TableHead:
    """Read the metadata above the rows of a table. Raises `SourceError` if it is unreadable.

    If `text` is given, it is read instead of the file.
    """
    head, body = metadata_and_table(read_text(path) if text is None else text)
    prefixes = curie_map(head)
    entries = (line.removeprefix("#").partition(":") for line in head if line[1:2].strip())
    slots = {name.strip(): value.strip().strip("\"'") for name, _, value in entries if name.strip()}
    slots.pop("curie_map", None)
    columns = body.partition("\n")[0].rstrip("\r").split("\t")
    version = slots.pop(_VERSION_SLOT, "")
    return TableHead(version=version, slots=slots, prefixes=prefixes, columns=tuple(columns))


def with_version(text: str, version: str) -> str:
    """Return the text of a table after setting the version of the ontology in its metadata."""
    if text.startswith(("#", '"#')):
        head, body = metadata_and_table(text)
        text = "\n".join([*head, body])
    line = f'#{_VERSION_SLOT}: "{version}"'
    stated = re.compile(rf"(?m)\A((?:#.*\n)*?)#{_VERSION_SLOT}:.*$")
    if stated.match(text):
        return stated.sub(lambda match: f"{match[1]}{line}", text, count=1)
    return f"{line}\n{text}"


def code_pairs(path: Path) -> list[tuple[str, str]]:
    """Return the rows of a mapping to SNOMED CT as pairs (code, SNOMED CT identifier).

    Rows are skipped unless the identifier is equivalent to the code or broader, because a narrower identifier
    would say more than the code. Negated rows are skipped as well.
    """
    head, rows = _table(path, read_text(path))
    prefixes = {**BUILT_IN, **curie_map(head)}
    pairs = []
    for row, _ in rows:
        target = code_of(row["object_id"], prefixes)
        broad_enough = row["predicate_id"] in TRANSLATING and not row.get("predicate_modifier")
        if broad_enough and target.isdecimal():
            pairs.append((row["subject_id"], target))
    if rows and not pairs:
        problem = f"must map codes to SNOMED CT, got {rows[0][0]['object_id']} in the first row"
        remedy = "Write your codes as subjects, and equivalent or broader SNOMED CT codes as objects"
        raise SourceError(problem, where=path, remedy=remedy)
    return pairs


def _table(path: Path, text: str) -> tuple[list[str], list[tuple[dict[str, str], str]]]:
    head, body = metadata_and_table(text)
    reader = csv.reader(io.StringIO(body, newline=""), delimiter="\t", strict=True)
    rows: list[tuple[list[str], str]] = []
    number, name = len(head), path.name
    try:
        for cells in reader:
            place = f"{name}:{number + 1}"
            number = len(head) + reader.line_num
            if cells and not cells[0].startswith("#"):
                rows.append((cells, place))
    except csv.Error as error:
        problem = f"cannot be read as a table ({error})"
        remedy = 'Put quotes around a cell with a tab, quote or line break, and write "" for a quote in it'
        raise SourceError(problem, where=f"{path.name}:{number + 1}", remedy=remedy) from error
    header = rows[0][0] if rows else []
    if missing := [column for column in REQUIRED if column not in header]:
        raise SourceError(f"isn't a routing table: it has no column {', '.join(missing)}", where=path)
    if len(set(header)) < len(header):
        raise SourceError("has two columns with the same name", where=path)
    for cells, place in rows:
        if len(cells) != len(header):
            problem = f"the row must have {len(header)} cells like the header, got {len(cells)}"
            raise SourceError(problem, where=place, remedy="Separate all cells by a tab, also empty cells")
    return head, [(dict(zip(header, cells, strict=True)), place) for cells, place in rows[1:]]


def metadata_and_table(text: str) -> tuple[list[str], str]:
    """Split a text into the lines of the metadata block at the top, and the table."""
    lines = text.split("\n")
    size = next((i for i, line in enumerate(lines) if not line.startswith(("#", '"#'))), len(lines))
    return [_unquoted(line) for line in lines[:size]], "\n".join(lines[size:])


def _unquoted(line: str) -> str:
    """Remove the tabs and quotes that spreadsheet programs add to a line of metadata."""
    line = line.rstrip("\r").rstrip("\t")
    return line[1:-1].replace('""', '"') if line.startswith('"#') and line.endswith('"') else line


def curie_map(lines: Iterable[str]) -> dict[str, str]:
    """Return the prefixes in a metadata block. They are the indented entries below ``curie_map:``."""
    prefixes: dict[str, str] = {}
    outer: int | None = None
    for line in lines:
        entry = line.removeprefix("#").rstrip()
        indent = len(entry) - len(entry.lstrip())
        if entry.strip() == "curie_map:":
            outer = indent
        elif outer is not None and indent > outer:
            name, _, iri = entry.strip().partition(": ")
            prefixes[name.strip("\"'")] = iri.strip().strip("\"'")
        else:
            outer = None
    return prefixes


def short_names(iris: Iterable[str]) -> dict[str, str]:
    """Return the namespaces of concepts by the prefixes that need no declaration.

    Such a prefix is the last part of the ontology's IRI. `iris` are the IRIs of the concepts,
    ``<ontology>#<abbr>``.
    """
    bases = {iri[: iri.rindex("#") + 1] for iri in iris if "#" in iri}
    return {base.rstrip("#").rpartition("/")[2]: base for base in bases}


def other_text(regime: Regime, override: str = "") -> str:
    """Return the text for the column ``other``.

    `override` is the reason for keeping a row although its label names another concept.
    """
    return f"{_REGIME}{regime}{_OVERRIDE}{override}" if override else f"{_REGIME}{regime}"


def override_of(other: str) -> str:
    """Return why a row is kept although its label names another concept, from the column ``other``, or ""."""
    return other.partition(_OVERRIDE)[2].strip()


def _regime(other: str, place: str) -> Regime | None:
    """Return the regime in a cell of the column ``other``, or `None`."""
    other = other.partition(_OVERRIDE)[0]
    regime = other.removeprefix(_REGIME)
    if regime in _REGIMES:
        return _REGIMES[regime]
    if other.startswith(_REGIME):
        problem = f"unknown regime {regime!r}"
        raise SourceError(problem, where=place, remedy=f"Choose from {', '.join(Regime)}")
    return None


def code_of(subject: str, prefixes: Mapping[str, str]) -> str:
    """Return the code in a cell of the column ``subject_id``, in the form of `canonical_code`.

    `prefixes` are the prefixes that the table declares, with their namespaces.
    """
    prefix, _, local = subject.partition(":")
    return local if prefixes.get(prefix) in SNOMED_IRIS else canonical_code(subject)


def _expand(curie: str, prefixes: Mapping[str, str], place: str) -> str:
    prefix, _, local = curie.partition(":")
    if prefix in prefixes:
        return prefixes[prefix] + local
    if local.startswith("//"):  # a complete IRI
        return curie
    problem = f"the prefix of {curie!r} is missing from the curie_map"
    raise SourceError(problem, where=place, remedy="Add the prefix there")


def sssom_text(
    rows: Iterable[RoutingRow],
    *,
    metadata: Mapping[str, str],
    prefixes: Mapping[str, str],
    labels: Mapping[str, str],
) -> str:
    """Return a routing table as SSSOM/TSV.

    Args:
        rows: rows of the table.
        metadata: further entries of the metadata block.
        prefixes: the curie_map: namespaces by prefix, by which IRIs of nodes are shortened.
        labels: label of each node, by IRI.
    """
    rows = list(rows)
    out = io.StringIO()
    out.write(metadata_text(metadata, prefixes))
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow((*MAPPING_COLUMNS, AUTHOR, DATE))
    for row in rows:
        writer.writerow(
            (
                row.code if ":" in row.code else f"{SNOMED}:{row.code}",
                row.label,
                row.predicate,
                NO_TERM if row.node is None else shorten(row.node, prefixes),
                "" if row.node is None else labels[row.node],
                row.justification,
                row.source,
                other_text(row.regime, row.override),
                row.reason,
                row.author,
                row.date,
            )
        )
    return out.getvalue()


def metadata_text(metadata: Mapping[str, str], prefixes: Mapping[str, str]) -> str:
    """Return the metadata block above a table."""
    slots = "".join(f"#{slot}: {value}\n" for slot, value in metadata.items())
    entries = "".join(f'#  {prefix}: "{iri}"\n' for prefix, iri in sorted(prefixes.items()))
    return f"{slots}#curie_map:\n{entries}"


def shorten(iri: str, prefixes: Mapping[str, str]) -> str:
    """Return an IRI as a CURIE with the prefix of the longest matching namespace, or unchanged."""
    fitting = [prefix for prefix, base in prefixes.items() if iri.startswith(base)]
    prefix = max(fitting, key=lambda prefix: len(prefixes[prefix]), default="")
    return f"{prefix}:{iri.removeprefix(prefixes[prefix])}" if prefix else iri
