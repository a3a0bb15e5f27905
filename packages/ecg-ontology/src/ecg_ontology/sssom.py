"""Routing tables as SSSOM/TSV, the Simple Standard for Sharing Ontological Mappings.

One row per code and node. A code that no node can carry has one row that ends at ``sssom:NoTermFound``,
with its reason as comment. The regime stands in the slot ``other`` as ``regime: …``.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from ecg_ontology.concepts import Regime
from ecg_ontology.drafts import RoutingRow
from ecg_ontology.errors import SourceError
from ecg_ontology.files import read_text

SNOMED = "snomedct"
"""Prefix of SNOMED CT identifiers; their codes are written without it everywhere else."""
NO_TERM = "sssom:NoTermFound"
COLUMNS = (
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
AUTHOR = "author_label"
DATE = "mapping_date"
MANUAL = "semapv:ManualMappingCuration"
_REGIME = "regime: "


def read_sssom(path: Path, table: str) -> tuple[RoutingRow, ...]:
    """Read one routing table.

    Args:
        path: the ``.sssom.tsv`` file.
        table: the name that its rows get.

    Raises:
        SourceError: it can't be read or is no SSSOM table of this form; the message names the line.
    """
    lines = read_text(path).splitlines()
    prefixes = curie_map(lines)
    body = [(number, line) for number, line in enumerate(lines, start=1) if line and not line.startswith("#")]
    header = body[0][1].split("\t") if body else []
    missing = [column for column in COLUMNS if column not in header]
    if missing:
        raise SourceError(f"is no routing table: it has no column {', '.join(missing)}", where=path)
    rows = csv.DictReader((line for _, line in body), delimiter="\t")
    return tuple(
        _routing_row(row, prefixes, table, f"{path.name}:{number}")
        for row, (number, _) in zip(rows, body[1:], strict=True)
    )


def curie_map(lines: Iterable[str]) -> dict[str, str]:
    """The prefixes of the metadata block: two-space indented entries below ``#curie_map:``."""
    prefixes: dict[str, str] = {}
    inside = False
    for line in lines:
        if not line.startswith("#"):
            break
        entry = line.removeprefix("#")
        inside = entry.rstrip() == "curie_map:" or (inside and entry.startswith("  "))
        if inside and entry.startswith("  "):
            name, _, iri = entry.strip().partition(": ")
            prefixes[name] = iri.strip().strip('"')
    return prefixes


def _routing_row(row: Mapping[str, str], prefixes: Mapping[str, str], table: str, place: str) -> RoutingRow:
    if None in row or None in row.values():
        raise SourceError("the row has not as many fields as the header", where=place)
    regime = row["other"].removeprefix(_REGIME)
    if regime not in set(Regime):
        raise SourceError(
            f"no regime is called {regime!r}", where=place, remedy=f"Choose one of {', '.join(Regime)}"
        )
    return RoutingRow(
        code=row["subject_id"].removeprefix(f"{SNOMED}:"),
        label=row["subject_label"],
        predicate=row["predicate_id"],
        node=None if row["object_id"] == NO_TERM else _expand(row["object_id"], prefixes, place),
        regime=Regime(regime),
        reason=row["comment"],
        source=row["mapping_source"],
        justification=row["mapping_justification"],
        author=row.get(AUTHOR) or "",
        date=row.get(DATE) or "",
        table=table,
        place=place,
    )


def _expand(curie: str, prefixes: Mapping[str, str], place: str) -> str:
    prefix, _, local = curie.partition(":")
    if prefix not in prefixes:
        raise SourceError(
            f"the prefix of {curie!r} is not in the curie_map", where=place, remedy="Add it there"
        )
    return prefixes[prefix] + local


def sssom_text(
    rows: Iterable[RoutingRow],
    *,
    metadata: Mapping[str, str],
    prefixes: Mapping[str, str],
    labels: Mapping[str, str],
) -> str:
    """Return a routing table as SSSOM/TSV.

    Args:
        rows: the rows, in order.
        metadata: slots of the mapping set, such as ``mapping_set_id`` and ``license``.
        prefixes: the curie_map; the nodes' IRIs are shortened by it.
        labels: label of each node by IRI.
    """
    rows = list(rows)
    signed = (AUTHOR, DATE) if any(row.author or row.date for row in rows) else ()
    out = io.StringIO()
    out.write(metadata_text(metadata, prefixes))
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow((*COLUMNS, *signed))
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
                _REGIME + row.regime,
                row.reason,
                *((row.author, row.date) if signed else ()),
            )
        )
    return out.getvalue()


def metadata_text(metadata: Mapping[str, str], prefixes: Mapping[str, str]) -> str:
    """Return the metadata block above a table."""
    slots = "".join(f"#{slot}: {value}\n" for slot, value in metadata.items())
    entries = "".join(f'#  {prefix}: "{iri}"\n' for prefix, iri in sorted(prefixes.items()))
    return f"{slots}#curie_map:\n{entries}"


def shorten(iri: str, prefixes: Mapping[str, str]) -> str:
    """Return `iri` as a CURIE by the longest prefix that fits, or itself where none does."""
    fitting = [prefix for prefix, base in prefixes.items() if iri.startswith(base)]
    prefix = max(fitting, key=lambda prefix: len(prefixes[prefix]), default="")
    return f"{prefix}:{iri.removeprefix(prefixes[prefix])}" if prefix else iri
