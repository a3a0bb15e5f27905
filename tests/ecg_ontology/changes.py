"""Changes of sources and drafts, as tests make them."""

from pathlib import Path

from ecg_ontology.graph.drafts import Draft

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
