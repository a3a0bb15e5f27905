"""The documentation: its examples run, and its generated page is up to date."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import ecg_ontology
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
