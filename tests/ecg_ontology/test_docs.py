"""The documentation: its examples run, and its generated page is up to date."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest
from tests.docs.ontology_pages import errata_page, findings_page

import ecg_ontology

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


@pytest.mark.parametrize(("name", "page"), [("findings", findings_page), ("errata", errata_page)])
def test_a_page_is_that_of_the_catalogue(name, page):
    assert (DOCS / f"{name}.md").read_text(encoding="utf-8") == page()
