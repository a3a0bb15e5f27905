"""Graphs that are wrong on purpose: sound, told apart, and wrong in nothing but their edges."""

import operator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import ecg_ontology
from ecg_base import EcgError, UsageError
from ecg_ontology import Kind, Ontology, Severity
from marecg_research.__main__ import app
from marecg_research.perturb import flat, shuffled, without

REAL = ecg_ontology.load()
CONTROLS = {
    "shuffle": lambda: shuffled(REAL, 0),
    "shuffle again": lambda: shuffled(REAL, 1),
    "flat": lambda: flat(REAL),
    "sibling": lambda: without(REAL, [Kind.sibling]),
    "ring": lambda: without(REAL, [Kind.ring]),
    "both": lambda: without(REAL, [Kind.sibling, Kind.ring]),
}

ERRORS = {
    "shuffle": {
        ("CCG-E312", "scp:NORM", "(normal ECG) is a broadMatch of NSR, but has the name of Normal"),
        ("CCG-E501", "scp:NORM", "NSR, Ischemic, but its label names only the family Normal"),
    },
    "shuffle again": {
        ("CCG-E501", "55827005", "LVH, Conduction, but its label names only the family Structural"),
        ("CCG-E501", "scp:VCLVH", "LVH, Conduction, but the curators route it to Structural"),
    },
}
"""A shuffle takes a leaf from the family that its code's label or the curators name: these errors alone."""


@pytest.fixture(scope="module", params=CONTROLS)
def control(request: pytest.FixtureRequest) -> Ontology:
    return CONTROLS[request.param]()


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_comes_back_from_its_bundle_with_no_error_but_the_family_that_a_leaf_left(name, tmp_path):
    control = CONTROLS[name]()
    control.save(tmp_path / "control.json")
    for profile in ("paper", "curated"):
        findings = ecg_ontology.validate(tmp_path / "control.json", profile)
        errors = {(one.id, one.subject): one.message for one in findings if one.severity is Severity.error}
        assert {*errors} == {(rule, code) for rule, code, _ in ERRORS.get(name, ())}
        assert all(says in errors[rule, code] for rule, code, says in ERRORS.get(name, ()))
        assert ecg_ontology.load(tmp_path / "control.json", profile).sha256 == control.sha256


def test_a_control_is_told_from_the_real_graph_and_from_every_other(control):
    made = [REAL, *(make() for make in CONTROLS.values())]
    assert len({one.sha256 for one in made}) == len({one.header.iri for one in made}) == len(made)
    assert "control, not for use" in control.header.title
    assert not {node.iri for node in control.nodes} & {node.iri for node in REAL.nodes}


def test_concepts_keep_their_indices_and_texts_and_codes_their_leaves(control):
    about = operator.attrgetter("index", "abbr", "label", "variants", "root")
    assert list(map(about, control.nodes)) == list(map(about, REAL.nodes))
    routed = operator.attrgetter("leaves", "status")
    assert list(map(routed, control.routes(REAL.codes))) == list(map(routed, REAL.routes(REAL.codes)))


def test_a_control_s_concepts_and_codes_stand_in_no_file():
    """What a finding names is a place that somebody could look into."""
    made = flat(ecg_ontology.load("ontology")).draft
    assert {row.place for row in (*made.concepts, *made.mappings)} == {""}
    assert {row.node_label for row in made.mappings} == {""}


def test_a_shuffled_graph_is_the_same_graph_over_other_leaves():
    wrong = shuffled(REAL, 0)
    assert not np.array_equal(wrong.distances, REAL.distances)
    assert sorted(wrong.distances.sum(0)) == sorted(REAL.distances.sum(0))
    assert np.allclose(np.linalg.eigvalsh(wrong.a_hat), np.linalg.eigvalsh(REAL.a_hat))
    assert shuffled(REAL, 0).sha256 == wrong.sha256 != shuffled(REAL, 1).sha256


def test_a_flat_graph_knows_families_alone():
    assert {relation.kind for relation in flat(REAL).relations} == {Kind.family}
    assert len(flat(REAL).relations) == sum(not node.root for node in REAL.nodes)


def test_only_the_edges_that_are_dropped_are_gone():
    others = [edge for edge in REAL.relations if edge.kind is not Kind.sibling]
    assert list(without(REAL, [Kind.sibling]).relations) == others


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (lambda: without(REAL, [Kind.family]), "edges of families can't be dropped"),
        (lambda: without(flat(REAL), [Kind.ring]), "has no ring edge to drop"),
        (lambda: flat(flat(REAL)), "to drop"),
    ],
)
def test_what_changes_nothing_or_breaks_the_graph_is_refused(wrong, problem):  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError, match=problem):
        wrong()


def run(*words: str | Path) -> str:
    return CliRunner().invoke(app, ["perturb", *map(str, words)], catch_exceptions=False).stdout


def test_the_command_writes_a_bundle_and_replaces_no_other(tmp_path):
    out = tmp_path / "wrong.json"
    assert run("shuffle=3", "--out", out) == f"{out}\n"
    assert ecg_ontology.load(out).header.iri.endswith("/control/shuffle-3")
    assert run("drop=sibling,ring", "--out", tmp_path / "two.json")
    with pytest.raises(EcgError, match="would be lost"):
        run("flat", "--out", out)
    assert ecg_ontology.load(out).sha256 == shuffled(REAL, 3).sha256


@pytest.mark.parametrize(
    "change", ["flat=1", "shuffle=", "shuffle=-1", "drop=uncle", "drop=", "drop=family", "unjust"]
)
def test_another_control_is_wrong_usage(change, tmp_path):
    with pytest.raises(UsageError, match=r"[Dd]rop"):
        run(change, "--out", tmp_path / "wrong.json")
    assert not (tmp_path / "wrong.json").exists()
