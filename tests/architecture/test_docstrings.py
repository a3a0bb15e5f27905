"""What docstrings say of code is true of it, as far as it can be read off the text.

A name such as `h_BTCD` says its axes, and the docstring of its file says what each letter is. Where arguments
are listed, the function has them. Who reads only `help(name)` of a public name learns each argument and what
comes back: the text begins with "Return" (of a context manager "Yield") or has `Returns:`.
"""

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.docs.first_lines import first_lines

ROOT = Path(__file__).parents[2]
MODULES = sorted(path for path in ROOT.glob("packages/*/src/**/*.py") if path.name != "__init__.py")
SUFFIXED = re.compile(r"\b[a-z][a-z0-9_]*_([A-Z][A-Z0-9]{0,4})\b")
LEGEND = re.compile(r"\bShapes?:(.*?)(?:\n\n|\Z)", re.DOTALL)
PACKAGES = ("ecg_ontology", "ecg_synth", "marecg")
NOTHING = (inspect.Signature.empty, None, "None", "NoReturn", "Never")
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


def test_no_first_line_begins_with_a_pronoun_for_its_noun():
    """`python -m tests.docs.first_lines` draws fifty for a reader."""
    pronouns = re.compile(r"(What|Those|These|The same|The other|See above|It|They|One of)\b")
    assert [place for place, text in first_lines() if pronouns.match(text)] == []


def functions(tree: ast.AST) -> Iterator[tuple[str, set[str], str]]:
    """Each function with its parameters and its docstring; of `__init__` that of its class."""
    for node in ast.walk(tree):
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.FunctionDef):
                about = node if isinstance(node, ast.ClassDef) and inner.name == "__init__" else inner
                names = {each.arg for each in ast.walk(inner.args) if isinstance(each, ast.arg)}
                yield inner.name, names, ast.get_docstring(about) or ""


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Each public function and method of the names that the two packages offer."""
    for package in map(importlib.import_module, PACKAGES):
        for name in package.__all__:
            value = getattr(package, name)
            if inspect.isfunction(value):
                yield f"{package.__name__}.{name}", value
            elif inspect.isclass(value):
                for inner, member in inspect.getmembers_static(value):
                    method = getattr(member, "__func__", member)
                    ours = inspect.isfunction(method) and method.__module__.startswith(PACKAGES)
                    if ours and not inner.startswith("_"):
                        yield f"{package.__name__}.{name}.{inner}", method


@pytest.mark.parametrize(("name", "function"), [pytest.param(*each, id=each[0]) for each in public()])
def test_a_public_function_says_what_it_takes_and_returns(name, function):
    text, signature = inspect.getdoc(function) or "", inspect.signature(function)
    section = ARGUMENTS.search(text)
    listed = re.findall(r"^ {4}\*{0,2}(\w+): ", section[1] if section else "", re.MULTILINE)
    missing = [each for each in signature.parameters if each not in {"self", "cls", *listed}]
    assert not missing, f"{name}: add {', '.join(missing)} to `Args:`"
    if signature.return_annotation not in NOTHING:
        assert re.search(r"\A(Return|Yield) |^Returns:", text, re.MULTILINE), f"{name}: add `Returns:`"
