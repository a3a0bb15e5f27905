"""Figures of the pages that the code itself knows, each as the page prints it."""

import tomllib
from collections.abc import Iterable

from tests.docs.claims.pages import ROOT

import ecg_ontology

ONTOLOGY = ecg_ontology.load()


def concepts() -> Iterable[object]:
    return [len(ONTOLOGY.nodes)]


def graph() -> Iterable[object]:
    roots = sum(node.root for node in ONTOLOGY.nodes)
    return [len(ONTOLOGY.nodes), roots, len(ONTOLOGY.nodes) - roots, len(ONTOLOGY.relations)]


def pythons() -> Iterable[object]:
    project = tomllib.loads((ROOT / "packages/marecg/pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = [name.rpartition(" ")[2] for name in project["classifiers"] if "Python :: 3." in name]
    return [versions[0], versions[-1]]
