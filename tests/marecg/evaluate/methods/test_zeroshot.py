from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

import ecg_ontology
from marecg.errors import UsageError
from marecg.evaluate.methods.frozen_encoder import (
    encoder,
    known_concepts,
    random_control,
    random_encoder,
    zero_shot,
)
from marecg.evaluate.methods.method import FeatureTable
from marecg.evaluate.scores.metrics import class_auc
from marecg.evaluate.tasks import task as tasks
from marecg.evaluate.tasks.cpsc2018 import CLASS_OF
from marecg.evaluate.tasks.registry import task_named
from marecg.model.card import Provenance
from marecg.model.config import ModelConfig
from marecg.model.readout import wide_columns

ONTO = ecg_ontology.load()
CONFIG = ModelConfig(width=8, depth=1, heads=2, mlp_ratio=1, concept_width=8, tau=1.0)
SUPER = ("CD", "MI", "NORM", "STTC")


@pytest.fixture
def model():
    """h_rhythm is the concept space itself; AntMI lies along the first axis, NSR along the second."""
    model = random_encoder(CONFIG)
    with torch.no_grad():
        model.to_concepts.weight.copy_(torch.eye(8))
        model.prototypes[25, 0] = model.prototypes[34, 1] = 1.0
    return model


def rows() -> list[dict[str, str]]:
    path = Path(tasks.__file__).with_name("zeroshot.tsv")
    return pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False).to_dict("records")


def test_records_near_a_prototype_score_for_its_class(model, task):
    rhythm = np.zeros((4, 8))
    rhythm[:2, 0] = rhythm[2:, 1] = 5.0
    y_MK = np.repeat(np.eye(4, dtype=np.uint8)[[SUPER.index("MI"), SUPER.index("NORM")]], 2, axis=0)
    assert class_auc(y_MK, zero_shot(model, rhythm, task, ONTO).logits_MK)[1:3].tolist() == [1.0, 1.0]


def test_a_class_scores_the_log_of_the_mass_on_its_concepts(model, task):
    rhythm = np.random.default_rng(0).normal(size=(3, 8))
    logits = model.concept_logits(torch.from_numpy(rhythm).float()).detach().double().numpy()
    q = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    scores = zero_shot(model, rhythm, task, ONTO).logits_MK
    np.testing.assert_allclose(scores[:, SUPER.index("NORM")], np.log(q[:, 34]), rtol=1e-5)
    np.testing.assert_allclose(scores[:, SUPER.index("MI")], np.log(q[:, [19, 20, 25, 26]].sum(1)), rtol=1e-5)


@pytest.mark.parametrize(
    ("readout", "name"), [("concepts", "encoder, beats + concepts"), ("full", "encoder, full")]
)
def test_behind_a_readout_stand_the_classes_scores_each_as_heavy_as_a_part(model, task, readout, name):
    row = encoder(model, readout).rows[name]
    x_MF = np.random.default_rng(0).normal(size=(len(task.row_M), len(row.weight_F))).astype(np.float32)
    numbered = replace(task, row_M=np.arange(len(task.row_M)))
    features = FeatureTable(x_MF, {}, row)
    values = features.values(numbered)
    count = len(row.weight_F)
    assert values.class_wise
    assert features.width == count + 1, "beside the readout each class reads one value"
    np.testing.assert_array_equal(values.x_MF[:, :count], x_MF)
    expected = zero_shot(model, x_MF[:, :8], task, ONTO, family=False).logits_MK
    np.testing.assert_array_equal(values.x_MF[:, count:], expected)
    np.testing.assert_allclose(values.weight_F, [*row.weight_F] + [np.sqrt(8)] * 4)


def test_an_untaught_class_of_ischaemia_scores_the_mass_of_its_family_and_an_untaught_normal_one_its_own(
    model, task
):
    rhythm = np.random.default_rng(0).normal(size=(3, 8))
    before = zero_shot(model, rhythm, task, ONTO).logits_MK
    untaught = {ONTO.nodes[place].abbr for place in (19, 20, 25, 26, 34)}
    support = {node.abbr: int(node.abbr not in untaught) for node in ONTO.nodes if not node.root}
    model.provenance = Provenance(recipe="micro", steps=1, records=9, sources={}, support=support)
    np.testing.assert_array_equal(zero_shot(model, rhythm, task, ONTO).logits_MK, before)
    model.untaught_by_family = ("Conduction", "Ischemic")
    logits = model.concept_logits(torch.from_numpy(rhythm).float()).detach().double().numpy()
    q = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    scores = zero_shot(model, rhythm, task, ONTO).logits_MK
    infarction, others = SUPER.index("MI"), [place for place, name in enumerate(SUPER) if name != "MI"]
    ischaemic = np.array(ONTO.families) == ONTO.families[19]
    np.testing.assert_allclose(scores[:, infarction], np.log(q[:, ischaemic].sum(1)), rtol=1e-5)
    np.testing.assert_array_equal(scores[:, others], before[:, others])
    np.testing.assert_array_equal(zero_shot(model, rhythm, task, ONTO, family=False).logits_MK, before)


def test_a_class_of_which_the_graph_lacks_a_concept_is_not_known():
    task = SimpleNamespace(concepts={"both": ("AF", "AFL"), "half": ("AF", "nobody's")})
    concepts = {name: known_concepts(task, name, ONTO) for name in ("both", "half", "none")}
    assert concepts == {"both": ("AF", "AFL"), "half": (), "none": ()}


def test_a_model_without_prototypes_is_refused(task):
    with pytest.raises(UsageError, match="without GSCL"):
        zero_shot(random_encoder(CONFIG), np.zeros((1, 8)), task, ONTO)


def test_every_concept_of_the_table_is_a_leaf_of_the_graph_and_a_class_without_one_says_why():
    leaves = {node.abbr for node in ONTO.nodes if not node.root}
    assert {abbr for row in rows() for abbr in row["concepts"].split()} <= leaves
    assert all(row["note"] for row in rows() if not row["concepts"])


def test_cpsc2018_is_mapped_as_the_routing_routes_its_codes():
    table = {row["class"]: set(row["concepts"].split()) for row in rows() if row["task"] == "cpsc2018"}
    assert table.keys() == set(CLASS_OF.values())
    for code, name in CLASS_OF.items():
        routed = {ONTO.nodes[leaf].abbr for leaf in ecg_ontology.load(profile="curated").route(code).leaves}
        assert table[name] & routed, f"{name} is mapped to {table[name]}, {code} is routed to {routed}"


def test_a_statement_of_form_or_rhythm_is_mapped_to_the_leaves_that_the_routing_gives_it():
    wider = {"PRC(S)", "BIGU", "TRIGU", "SVARR"}  # routed to their family: the statement names no one finding
    for row in rows():
        if row["task"] in ("ptbxl-form", "ptbxl-rhythm"):
            codes = [f"scp:{row['class']}", f"scp:{row['class']}_"]
            routes = [route for route in ONTO.routes(codes) if route.status in ("routed", "unrouted")]
            routed = {ONTO.nodes[leaf].abbr for route in routes for leaf in route.leaves}
            mapped = set(row["concepts"].split())
            assert routed <= mapped, row["class"]
            assert bool(mapped) == bool(routed) or row["class"] in wider, row["class"]


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "unmapped"),
    [
        ("ptbxl-super", set()),
        ("ptbxl-sub", {"ILBBB", "IVCD", "LMI", "PMI", "SEHYP"}),
        ("ptbxl-form", {"ABQRS", "DIG", "HVOLT", "QWAVE"}),
        ("ptbxl-rhythm", set()),
    ],
)
def test_the_table_has_every_class_of_every_task(name, unmapped, realdata):
    task = task_named(name).open(realdata / "ptbxl")
    assert {row["class"] for row in rows() if row["task"] == name} == set(task.classes)
    assert {name for name in task.classes if not task.concepts[name]} == unmapped


def test_the_full_readout_of_an_encoder_without_prototypes_starts_from_no_concept():
    without = random_encoder(CONFIG)
    row = encoder(without, "full").rows["encoder, full"]
    assert set(row.weight_F[wide_columns(CONFIG, "full")["measured"]]) == {1}, "a view of its own"
    assert encoder(without, "full").rows["encoder, full"].of_classes is None
    assert random_control(without, "full").rows["random encoder, full"].of_classes is None
