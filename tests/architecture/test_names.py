"""Names of functions, fields, parameters and variables: nouns and verbs, no fragments of a sentence."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FRAGMENTS = {"each", "told", "own", "seen", "about", "named", "whole", "beside"}
VAGUE = {"BATCH", "FEW", "PATIENCE", "COLUMNS", "AT_ONCE", "ABOUT", "OWN", "KEPT", "_names"}
"""Constants that say neither what is counted nor in which unit, and a helper that twelve modules had."""
PUBLIC = {
    "cli": set(),
    "ecg-ontology": {"about"},  # of `Ontology.from_networkx`, `CodeTable`, `CodeMapping`
    "ecg-synth": set(),
    "marecg-corpora": set(),
    "marecg-experiments": set(),
    "marecg-model": {
        "about",
        "seen",
        "told",
        "whole",
    },  # of `Export`, `Evaluation`, `Answers`, `CorpusSupervision`
    "marecg-report": set(),
    "marecg-small": set(),
}
"""Names that users know. The lists only shrink."""


def names(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a module gives."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.alias(asname=str(name)):
                yield name


def test_names_are_nouns_and_verbs_and_no_fragments_of_a_sentence():
    found: dict[str, set[str]] = {package: set() for package in PUBLIC}
    for package in PUBLIC:
        folder = ROOT / ("cli" if package == "cli" else f"packages/{package}") / "src"
        for path in folder.rglob("*.py"):
            given = names(ast.parse(path.read_text(encoding="utf-8")))
            found[package] |= {name for name in given if name.strip("_") in FRAGMENTS or name in VAGUE}
    assert found == PUBLIC
