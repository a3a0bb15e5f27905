"""A name such as `h_BTCD` says its axes, and the docstring of its file says what each letter is."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(path for path in ROOT.glob("packages/*/src/**/*.py") if path.name != "__init__.py")
SUFFIXED = re.compile(r"\b[a-z][a-z0-9_]*_([A-Z][A-Z0-9]{0,4})\b")
LEGEND = re.compile(r"\bShapes?:(.*?)(?:\n\n|\Z)", re.DOTALL)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: "/".join(path.parts[-2:]))
def test_every_axis_that_a_name_carries_is_in_the_legend_of_its_file(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    used = set("".join(SUFFIXED.findall(text))) - set("0123456789")
    legend = LEGEND.search(ast.get_docstring(ast.parse(text)) or "")
    explained = set(re.findall(r"\b[A-Z]\b", legend[1])) if legend else set()
    lacking = ", ".join(sorted(used - explained))
    assert not lacking, f"add {lacking} to the line `Shapes: …` of the module's docstring"
