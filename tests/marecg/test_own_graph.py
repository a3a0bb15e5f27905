"""A graph of one's own from the sources to the report: N follows from it, and another one is refused."""

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
from tests.made_records import make_ecg, make_record
from tests.marecg.evaluate.made_tasks import probed
from tests.marecg.own_graphs import LUNG_CODES, cardiac_with_an_axis, lung

import ecg_ontology
from ecg_synth import write_corpus
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.corpus.statistics import statistics
from marecg.embedding.inputs import Inputs
from marecg.errors import CheckpointError, ConfigError, CorpusError, UsageError
from marecg.evaluate.request import Request
from marecg.model.mar_ecg import MarEcg
from marecg.objectives import concept_text
from marecg.objectives.mpct import MpctConfig
from marecg.recipes.overrides import override
from marecg.report.run_page import write_report
from marecg.train.run import train
from marecg.use.predict import nearest, predict_table, reader_of

FEW = Request(fractions=(1.0,), resamples=50, without=("encoder, wide", "random encoder", "hand-crafted"))


@pytest.fixture(scope="module")
def cardiac(tmp_path_factory, micro) -> Path:
    """41 concepts: their sources, a corpus of left fascicular block and other records, and a run of it."""
    place = tmp_path_factory.mktemp("cardiac41")
    cardiac_with_an_axis(place / "graph")
    write_corpus(place / "wfdb", 78, 0, diagnoses=("LAFB", "AF", "NSR"))
    prepare([place / "wfdb"], place / "corpus", ontology=place / "graph", jobs=1)
    train(override(micro, ["train.max_steps=2"]), place / "corpus", place / "run")
    return place


@pytest.fixture(scope="module")
def airways(tmp_path_factory, micro) -> Path:
    """Five concepts of another field, nine synthetic records as a corpus, and a run that learns them."""
    place = tmp_path_factory.mktemp("lung")
    lung(place / "graph")
    for number in range(9):
        comments = [f"Dx: {LUNG_CODES[number % 3]}"]
        make_record(place / "wfdb", f"L{number:04d}", make_ecg(seed=number), comments=comments)
    prepare([place / "wfdb"], place / "corpus", ontology=place / "graph", jobs=1)
    config = override(micro, ["train.max_steps=8", "gscl.weight=5", "train.lr=0.02"])
    config = override(config, ["train.batch_size=9", "train.global_batch_size=9"])
    train(config, place / "corpus", place / "run")
    return place


def test_a_corpus_carries_the_graph_that_labels_it(cardiac, tmp_path):
    corpus = Corpus.open(cardiac / "corpus")
    own = ecg_ontology.load(cardiac / "graph")
    assert (corpus.y.shape[1], corpus.ontology_sha256) == (41, own.sha256)
    assert corpus.ontology().bundle_sha256 == own.bundle_sha256
    blocks = corpus.y[:, [node.abbr for node in own.nodes].index("LAFB")].sum()
    assert corpus.y[:, 40].sum() > blocks / 4 > 0
    shutil.copytree(cardiac / "corpus", tmp_path / "corpus")  # without the sources
    assert statistics(tmp_path / "corpus").leaves["LAxis"] == corpus.y[:, 40].sum()


def test_a_corpus_under_another_graph_with_an_exchanged_one_or_without_is_refused(cardiac, tmp_path):
    with pytest.raises(CorpusError, match=r"another ontology: .*- node 40 Leaf LAxis"):
        prepare([cardiac / "wfdb"], cardiac / "corpus", jobs=1)
    shutil.copytree(cardiac / "corpus", tmp_path / "corpus")
    ecg_ontology.load().save(tmp_path / "corpus" / "ontology.json")
    with pytest.raises(CorpusError, match=r"damaged .*must have the enumeration"):
        Corpus.open(tmp_path / "corpus")
    (tmp_path / "corpus" / "ontology.json").unlink()
    with pytest.raises(CorpusError, match=r"has no ontology\.json"):
        Corpus.open(tmp_path / "corpus")


def test_a_run_has_as_many_concepts_as_its_corpus(cardiac, micro):
    model = MarEcg.from_pretrained(cardiac / "run")
    assert (model.config.concepts, len(model.prototypes), model.ontology.nodes[40].abbr) == (41, 41, "LAxis")
    with pytest.raises(ConfigError, match="must be the ontology's 41 concepts, got 40"):
        train(override(micro, ["model.concepts=40"]), cardiac / "corpus", cardiac / "other")
    assert not (cardiac / "other").exists()


def test_no_run_goes_on_or_begins_with_weights_of_another_graph(cardiac, corpus_folder, micro, tmp_path):
    with pytest.raises(
        CheckpointError, match="another enumeration of concepts than the corpus: - node 40 Leaf LAxis"
    ):
        train(override(micro, ["train.max_steps=2"]), corpus_folder, cardiac / "run")
    with pytest.raises(CheckpointError, match=r"another enumeration: .*node 40 Leaf LAxis"):
        train(micro, corpus_folder, tmp_path / "run", start=cardiac / "run")
    assert not (tmp_path / "run").exists()


def test_its_new_leaf_is_predicted_probed_and_asked_for_without_labels(cardiac):
    record = sorted((cardiac / "wfdb").rglob("*.hea"))[0]
    model = reader_of(cardiac / "run")
    q_N = predict_table(model, Inputs([record]))[0].iloc[0, -41:].to_numpy(float)
    predicted = {each.abbr: each for each in nearest(model, q_N, top=41)}
    assert len(predicted) == 41
    assert [near.abbr for near in predicted["LAxis"].neighbours] == ["Conduction"]
    report = probed(cardiac / "run", "corpus", cardiac / "corpus", FEW)
    assert "LAxis" in report.classes
    assert report.ontology_sha256 == Corpus.open(cardiac / "corpus").ontology_sha256
    zero_shot = next(cell for cell in report.cells if cell.method == "zero-shot")
    assert not any(zero_shot.untrained)


def test_an_encoder_of_another_graph_says_what_it_can_not_name(cardiac, corpus_folder, micro, tmp_path):
    train(override(micro, ["train.max_steps=1"]), corpus_folder, tmp_path / "run")
    report = probed(tmp_path / "run", "corpus", cardiac / "corpus", FEW)
    assert any("lacks concepts of LAxis" in remark for remark in report.remarks)
    with pytest.raises(CheckpointError, match=r"\+ node 40 Leaf LAxis|- node 40 Leaf LAxis"):
        write_report(tmp_path / "run", cardiac / "corpus")


@pytest.mark.parametrize("graph", [pytest.param("cardiac", marks=pytest.mark.slow), "airways"])
def test_its_report_draws_it(graph, request):
    place = request.getfixturevalue(graph)
    page = write_report(place / "run", place / "corpus").read_text(encoding="utf-8")
    own = Corpus.open(place / "corpus").ontology()
    assert f"{len(own)} concepts" in page
    assert all(re.search(rf"\b{node.abbr}\b", page) for node in own.nodes)


def test_a_graph_of_another_field_is_learnt(airways):
    model = MarEcg.from_pretrained(airways / "run")
    assert [node.abbr for node in model.ontology.nodes] == ["Airway", "Tissue", "COPD", "Asthma", "Pneumonia"]
    losses = pd.read_csv(airways / "run" / "metrics.csv")["gscl"]
    assert losses.iloc[-1] < losses.iloc[0] / 3, "without it, the other losses alone halve it"


def test_its_texts_are_embedded_when_needed_and_kept_beside_the_corpus(airways, micro, monkeypatch, tmp_path):
    made = []

    def embed_texts(ontology):
        made.append(len(ontology))
        return torch.nn.functional.normalize(torch.randn(len(ontology), 3, 384), dim=-1)

    monkeypatch.setattr(concept_text, "embed_texts", embed_texts)
    shutil.copytree(airways / "corpus", tmp_path / "corpus")
    config = micro.model_copy(update={"mpct": MpctConfig()})
    train(override(config, ["train.max_steps=1"]), tmp_path / "corpus", tmp_path / "made")
    assert made == [5]
    train(override(config, ["train.max_steps=1"]), tmp_path / "corpus", tmp_path / "kept")
    assert made == [5]
    (tmp_path / "corpus" / concept_text.TEXTS).write_bytes(b"no tensors")
    with pytest.raises(CheckpointError, match="concept_text"):
        train(override(config, ["train.max_steps=1"]), tmp_path / "corpus", tmp_path / "damaged")


def test_texts_that_can_not_be_compared_are_refused_with_the_reason():
    short = [(node, node.variants[: 1 + (node.index != 7)]) for node in ecg_ontology.load().nodes]
    nodes = [node.model_copy(update={"variants": variants}) for node, variants in short]
    with pytest.raises(UsageError, match="SVT has 1 text variants, Normal 2"):
        concept_text.embed_texts(SimpleNamespace(nodes=nodes))


def test_a_graph_without_routing_is_warned_of(airways, tmp_path, caplog):
    report = prepare([airways / "wfdb"], tmp_path / "corpus", ontology=airways / "graph" / "lung.ttl", jobs=1)
    assert "has no routing table" in caplog.text
    assert report.kept == 9
    assert not Corpus.open(tmp_path / "corpus").y.any()


def test_the_same_graph_gives_the_same_bytes(airways, tmp_path):
    bundle = tmp_path / "lung.json"
    ecg_ontology.load(airways / "graph").save(bundle)
    prepare([airways / "wfdb"], tmp_path / "corpus", ontology=bundle, jobs=1)
    for name in ("corpus.json", "ontology.json", "index.parquet"):
        assert (tmp_path / "corpus" / name).read_bytes() == (airways / "corpus" / name).read_bytes()
    assert json.loads((tmp_path / "corpus" / "corpus.json").read_text())["profile"] == "paper"
