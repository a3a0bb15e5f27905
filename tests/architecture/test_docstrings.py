"""Docstrings agree with the code.

A name such as `h_BTCD` carries its axes, and the legend in the docstring of its file explains each letter.
Each argument that a docstring lists is a parameter of the function.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = sorted(path for path in ROOT.glob("packages/*/src/**/*.py") if path.name != "__init__.py")
SUFFIXED = re.compile(r"\b[a-z][a-z0-9_]*_([A-Z][A-Z0-9]{0,4})\b")
LEGEND = re.compile(r"\bShapes?:(.*?)(?:\n\n|\Z)", re.DOTALL)
ARGUMENTS = re.compile(r"^Args:\n((?: {4}.*\n?)+)", re.MULTILINE)


def test_every_axis_that_a_name_carries_is_in_the_legend_of_its_file():
    lacking = {}
    for module in MODULES:
        text = module.read_text(encoding="utf-8")
        used = set("".join(SUFFIXED.findall(text))) - set("0123456789")
        legend = LEGEND.search(ast.get_docstring(ast.parse(text)) or "")
        if missing := used - set(re.findall(r"\b[A-Z]\b", legend[1]) if legend else ()):
            lacking[str(module.relative_to(ROOT))] = sorted(missing)
    assert not lacking, f"add to the line `Shapes: …` of the module's docstring: {lacking}"


def test_every_argument_that_a_docstring_lists_is_one_of_the_function():
    for module in MODULES:
        for name, parameters, text in functions(ast.parse(module.read_text(encoding="utf-8"))):
            section = ARGUMENTS.search(text)
            for line in section[1].splitlines() if section else ():
                if not line.startswith(" " * 5):
                    listed = {each.lstrip("*") for each in line.strip().partition(": ")[0].split(", ")}
                    assert listed <= parameters, f"{module.name}: {name} has no argument {line.strip()}"


def functions(tree: ast.AST) -> Iterator[tuple[str, set[str], str]]:
    """Yield the name, parameters and docstring of each function. The class documents `__init__`."""
    for node in ast.walk(tree):
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.FunctionDef):
                about = node if isinstance(node, ast.ClassDef) and inner.name == "__init__" else inner
                names = {each.arg for each in ast.walk(inner.args) if isinstance(each, ast.arg)}
                yield inner.name, names, ast.get_docstring(about) or ""
