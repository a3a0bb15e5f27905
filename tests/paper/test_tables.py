"""The paper's tables that define something, row by row, and the code."""

import importlib
import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ecg_ontology
from ecg_ontology import Kind
from marecg import recipes
from marecg.corpus.statistics import HISTOGRAM, PAPER_RECORDS
from marecg.recipes import Config
from marecg.settings import sources

TABLES: dict[str, Any] = tomllib.loads((Path(__file__).parent / "tables.toml").read_text(encoding="utf-8"))
VALUES: dict[str, Any] = TABLES["values"]
C3 = recipes.c3().model_dump(mode="json")
ONTOLOGY = ecg_ontology.load()


def test_every_leaf_has_the_index_the_name_and_the_family_of_the_papers_table():
    family = {edge.source: edge.target for edge in ONTOLOGY.relations if edge.kind is Kind.family}
    found = {
        (node.index, node.label, node.abbr, ONTOLOGY.nodes[family[node.index]].abbr)
        for node in ONTOLOGY.nodes
        if not node.root
    }
    assert found == {tuple(row) for row in TABLES["leaf-concepts"]["rows"]}


def test_the_edges_are_those_of_the_papers_lists():
    listed = TABLES["edges"]
    directed = {
        kind: {(edge.source, edge.target) for edge in ONTOLOGY.relations if edge.kind is kind}
        for kind in Kind
    }
    undirected = {kind: {frozenset(edge) for edge in edges} for kind, edges in directed.items()}
    assert directed[Kind.subtype_of] == {tuple(edge) for edge in listed["subtype"]}
    assert directed[Kind.manifestation_of] == {tuple(edge) for edge in listed["manifestation"]}
    assert all(subtype > parent for subtype, parent in directed[Kind.subtype_of])
    assert undirected[Kind.ring] == {frozenset(edge) for edge in listed["ring"]}
    assert undirected[Kind.sibling] == {
        frozenset(ONTOLOGY.node(abbr).index for abbr in edge) for edge in listed["sibling"]
    }


def test_a_distance_class_has_the_mass_of_the_papers_table():
    t_N = ONTOLOGY.soft_targets(ONTOLOGY.leaf_multi_hot([["164889003"]]), sigma=1.0)[0]
    by_class = [np.unique((t_N / t_N.max())[ONTOLOGY.distances[5] == d]) for d in range(5)]
    for found, printed in zip(by_class, TABLES["distance-classes"]["mass"], strict=True):
        assert found == pytest.approx(printed, abs=5e-4)
    assert math.isclose(t_N.sum(), 1)


@pytest.mark.parametrize("name", TABLES["component-ablation"])
def test_each_configuration_has_the_components_that_its_column_ticks(name):
    config, ticked = recipes.by_name(name), TABLES["component-ablation"][name]
    assert list(config.objectives) == ticked["objectives"]
    assert (config.regulariser is not None) == ticked["regularised"]
    assert (config.view and config.view.augmentation) == ticked.get("augmentation")
    assert config.model == recipes.c3().model
    assert config.train == recipes.c3().train


def test_the_paper_s_corpus_is_that_of_its_tables():
    assert TABLES["pretrain-corpus"] == PAPER_RECORDS
    assert TABLES["pretrain-code-histogram"] == HISTOGRAM


@pytest.mark.parametrize("name", TABLES["constants"])
def test_a_constant_is_the_paper_s(name):
    module, _, constant = name.partition(":")
    found = getattr(importlib.import_module(module), constant)
    assert (list(found) if isinstance(found, tuple) else found) == TABLES["constants"][name]


@pytest.mark.parametrize("key", VALUES)
def test_the_full_recipe_has_the_papers_value(key):
    value: Any = C3
    for part in key.split("."):
        value = value[part]
    assert value == VALUES[key]


def test_every_value_that_a_config_attributes_to_the_paper_is_transcribed_here():
    assert {key for key, source in sources(Config) if source.startswith("paper,")} == VALUES.keys()
