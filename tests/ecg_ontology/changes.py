"""Changes of sources and drafts, as tests make them."""

import re
import shutil
from pathlib import Path

from ecg_ontology.formats.sources import read_source
from ecg_ontology.formats.turtle import turtle_text
from ecg_ontology.graph.drafts import Draft
from ecg_ontology.graph.enumeration import lock_of, lock_text

WITHOUT_17_18 = ((" ;\n    ccg:sibling :3AVB .", " ."), (" ;\n    ccg:sibling :2AVB .\n\n:L", " .\n\n:L"))
"""In cardiac.ttl: no edge between second-degree and complete AV block."""
NEW_LEAF = (
    ":LowV a ccg:Leaf",
    ':New a ccg:Leaf ;\n    ccg:index 40 ;\n    skos:notation "New" ;\n    skos:prefLabel "New"@en ;\n'
    "    ccg:family :Rhythm .\n\n:LowV a ccg:Leaf",
)
"""In cardiac.ttl: a leaf more."""


def edit(path: Path, *replacements: tuple[str, str]) -> Path:
    """Replace each text, which must be there, once."""
    text = path.read_text(encoding="utf-8")
    for old, new in replacements:
        assert old in text, (path, old)
        text = text.replace(old, new, 1)
    path.write_text(text, encoding="utf-8")
    return path


def with_concept(draft: Draft, abbr: str, /, **changes: object) -> Draft:
    """The draft with one concept changed."""
    concepts = tuple(c.model_copy(update=changes) if c.abbr == abbr else c for c in draft.concepts)
    return draft.model_copy(update={"concepts": concepts})


def with_rows(draft: Draft, *rows: object) -> Draft:
    """The draft with more rows of routing."""
    return draft.model_copy(update={"mappings": (*draft.mappings, *rows)})


LEAVES = frozenset(
    re.findall(
        r"\w+",
        "AF AFL SBrad LBBB RBBB LAFB 1AVB 2AVB 3AVB AMI OMI STE MyIsch AntMI LVH RAE LongQT NSR WPW IRBBB",
    )
)
"""The findings of the excerpt. Their indices differ from the whole graph."""
CODES = frozenset(
    re.findall(
        r"\S+",
        "164889003 164890007 426177001 426783006 59118001 713427006 195042002 164909002 270492004 "
        "55827005 67751000119106 368009 39732003 698252002 49436004 scp:WPW scp:AFIB "
        "icd10cm:I44.0 icd9cm:427.31 aha:50 hp:0005110 minnesota:8-3-1 code15:AF",
    )
)


def write_excerpt(sources: Path, folder: Path) -> Path:
    """Write a folder of sources with the findings of `LEAVES`, and the rows of `CODES` that reach them."""
    shutil.copytree(sources, folder, ignore=shutil.ignore_patterns("extended", ".*"))
    whole = read_source(folder)
    kept = [c for c in whole.concepts if c.tier == "Root" or c.abbr in LEAVES]
    names = {concept.iri for concept in kept}
    concepts = tuple(concept.model_copy(update={"index": index}) for index, concept in enumerate(kept))
    edges = tuple(edge for edge in whole.relations if {edge.subject, edge.object} <= names)
    (folder / "cardiac.ttl").write_text(
        turtle_text(whole.model_copy(update={"concepts": concepts, "relations": edges})), encoding="utf-8"
    )
    missing = re.compile(r"\bcardiac:(?!({})\b)".format("|".join(map(re.escape, (c.abbr for c in kept)))))
    for table in folder.glob("*.tsv"):
        head, rows = _split(table.read_text(encoding="utf-8"))
        rows = [row for row in rows if row.split("\t")[0].removeprefix("snomedct:") in CODES]
        table.write_text(
            "".join((*head, *(row for row in rows if not missing.search(row)))), encoding="utf-8"
        )
    errata = (folder / "errata.ttl").read_text(encoding="utf-8").split("\n\n")
    (folder / "errata.ttl").write_text("\n\n".join(errata[:3]) + "\n", encoding="utf-8")
    (folder / "enumeration.lock").write_text(lock_text(lock_of(read_source(folder))), encoding="utf-8")
    return folder


def _split(table: str) -> tuple[list[str], list[str]]:
    """The metadata and the header of a table, and its rows."""
    lines = table.splitlines(keepends=True)
    size = 1 + next(number for number, line in enumerate(lines) if not line.startswith("#"))
    return lines[:size], lines[size:]
