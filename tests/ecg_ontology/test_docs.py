"""The documentation: its examples run, and its generated page is up to date."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import ecg_ontology
from ecg_ontology import Ontology
from ecg_ontology.validation import reports

DOCS = Path(__file__).parents[2] / "docs" / "ontology"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = [name for _, name, _ in pkgutil.walk_packages(ecg_ontology.__path__, "ecg_ontology.")]


@pytest.mark.parametrize("name", ["ecg_ontology", *MODULES])
def test_the_examples_of_a_module_run(name):
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert failed == 0


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page):
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS, encoding="utf-8")
    assert failed == 0


def test_the_page_of_findings_is_that_of_the_catalogue():
    assert (DOCS / "findings.md").read_text(encoding="utf-8") == reports.catalogue_markdown() + "\n"


def test_the_door_is_narrow():
    assert len(ecg_ontology.__all__) <= 50


PUBLIC = {name: getattr(ecg_ontology, name) for name in ecg_ontology.__all__}
ERRORS = {name for name in PUBLIC if name.endswith("Error")}
FUNCTIONS = [name for name, thing in PUBLIC.items() if inspect.isfunction(thing)]
CLASSES = {name for name, thing in PUBLIC.items() if inspect.isclass(thing)} - ERRORS
MEMBERS = {name for name in dir(Ontology) if not name.startswith("_")}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_function_has_an_example(name):
    assert doctest.DocTestParser().get_examples(PUBLIC[name].__doc__ or ""), name


def test_every_public_class_and_every_member_of_an_ontology_stands_in_an_example():
    modules = [importlib.import_module(name) for name in MODULES]
    tests = [test for module in modules for test in doctest.DocTestFinder().find(module) if test.examples]
    examples = [f"{test.name} {each.source} {each.want}" for test in tests for each in test.examples]
    assert (CLASSES | MEMBERS) - set(re.findall(r"\w+", " ".join(examples))) == set()
