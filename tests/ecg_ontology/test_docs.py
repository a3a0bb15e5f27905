"""The documentation: its examples run, and its generated page is up to date."""

import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import ecg_ontology
from ecg_ontology import Ontology, reports

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
    assert len(ecg_ontology.__all__) <= 45


def public_things():
    for name in ecg_ontology.__all__:
        thing = getattr(ecg_ontology, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):  # plain values have no docstring of their own
            yield name, thing
    for name in dir(Ontology):
        member = inspect.getattr_static(Ontology, name)
        if not name.startswith("_") and (callable(member) or hasattr(member, "__get__")):
            yield f"Ontology.{name}", member


@pytest.mark.parametrize(
    ("name", "thing"), list(public_things()), ids=lambda part: part if isinstance(part, str) else ""
)
def test_every_public_name_has_an_example(name, thing):
    assert doctest.DocTestParser().get_examples(thing.__doc__ or ""), name
