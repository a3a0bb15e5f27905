"""Graphs that are wrong on purpose: sound, told apart, and wrong in nothing but their edges."""

import json

import numpy as np
import pytest

import ecg_ontology
from ecg_ontology import Kind, Ontology, Severity, UsageError
from ecg_ontology.perturb import flat, shuffled, without
from marecg_cli.ecgonto import main

REAL = ecg_ontology.load()
CONTROLS = {
    "shuffle": lambda: shuffled(REAL, 0),
    "flat": lambda: flat(REAL),
    "sibling": lambda: without(REAL, [Kind.sibling]),
    "ring": lambda: without(REAL, [Kind.ring]),
    "both": lambda: without(REAL, [Kind.sibling, Kind.ring]),
}


@pytest.fixture(scope="module", params=CONTROLS)
def control(request: pytest.FixtureRequest) -> Ontology:
    return CONTROLS[request.param]()


def test_a_control_validates_and_comes_back_from_its_bundle(control, tmp_path):
    control.save(tmp_path / "control.json")
    for profile in ("paper", "curated"):
        found = ecg_ontology.validate(tmp_path / "control.json", profile)
        errors = {one.id for one in found if one.severity is Severity.error}
        assert errors <= {"CCG-E312"}  # a label may name the family that its leaf was taken from
        assert ecg_ontology.load(tmp_path / "control.json", profile).sha256 == control.sha256


def test_a_control_is_told_from_the_real_graph_and_from_every_other(control):
    made = [REAL, *(make() for make in CONTROLS.values())]
    assert len({one.sha256 for one in made}) == len({one.header.iri for one in made}) == len(made)
    assert "control, not for use" in control.header.title
    assert not {node.iri for node in control.nodes} & {node.iri for node in REAL.nodes}


def test_concepts_keep_their_indices_and_texts_and_codes_their_leaves(control):
    kept = [(node.index, node.abbr, node.label, node.variants, node.root) for node in control.nodes]
    assert kept == [(node.index, node.abbr, node.label, node.variants, node.root) for node in REAL.nodes]
    for code in REAL.codes:
        assert control.route(code).leaves == REAL.route(code).leaves
        assert control.route(code).status == REAL.route(code).status


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
    kept = [one for one in REAL.relations if one.kind is not Kind.sibling]
    assert list(without(REAL, [Kind.sibling]).relations) == kept


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (lambda: without(REAL, [Kind.family]), "every leaf needs its family"),
        (lambda: without(flat(REAL), [Kind.ring]), "has no ring edge to drop"),
        (lambda: flat(flat(REAL)), "to drop"),
    ],
)
def test_what_changes_nothing_or_breaks_the_graph_is_refused(wrong, problem):  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError, match=problem):
        wrong()


def code(*command: str) -> int | str | None:
    with pytest.raises(SystemExit) as end:
        main(command)
    return end.value.code


def test_the_command_writes_a_bundle(tmp_path, capsys):
    out = tmp_path / "wrong.json"
    assert code("perturb", "--shuffle", "3", "--out", str(out)) == 0
    assert capsys.readouterr().out.strip() == str(out)
    assert ecg_ontology.load(out).sha256 == shuffled(REAL, 3).sha256
    assert json.loads(out.read_text())["header"]["iri"].endswith("/control/shuffle-3")
    assert code("perturb", "--drop", "sibling", "--drop", "ring", "--out", str(tmp_path / "two.json")) == 0
    assert code("perturb", "--flat", "--out", str(out)) == 2
    assert "would be lost" in capsys.readouterr().err
    assert ecg_ontology.load(out).sha256 == shuffled(REAL, 3).sha256


@pytest.mark.parametrize("change", ["", "--flat --shuffle 1", "--drop uncle", "--drop family"])
def test_another_number_of_changes_than_one_is_wrong_usage(change, tmp_path):
    assert code("perturb", *change.split(), "--out", str(tmp_path / "wrong.json")) == 2
    assert not (tmp_path / "wrong.json").exists()
