"""Concept scores are fitted on the codes of a run's records, and read where a readout has beats."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

import marecg
from ecg_synth import write_corpus
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.errors import CheckpointError, CorpusError
from marecg.evaluate.methods.frozen_encoder import zero_shot
from marecg.evaluate.scores.metrics import class_auc
from marecg.model.concept_scores import FILE
from marecg.model.mar_ecg import MarEcg
from marecg.model.readout import part_weights, views
from marecg.recipes.overrides import override
from marecg.train.run import train
from marecg.use import fit_concept_scores
from marecg.use.answers import marked
from marecg.use.fit_concept_scores import ridge, write_concept_scores

FINDINGS = ("AF", "NSR", "LBBB")


@pytest.fixture(scope="module")
def place(tmp_path_factory, micro) -> Path:
    """A corpus of three findings, and a run that two steps have taught nothing."""
    place = tmp_path_factory.mktemp("concept-scores")
    write_corpus(place / "wfdb", 45, 0, diagnoses=FINDINGS)
    prepare([place / "wfdb"], place / "corpus", jobs=1)
    train(override(micro, ["train.max_steps=2"]), place / "corpus", place / "run")
    shutil.copytree(place / "run", place / "fitted")
    write_concept_scores(place / "fitted", place / "corpus")
    return place


@pytest.fixture
def fitted(place: Path, tmp_path: Path) -> Path:
    return shutil.copytree(place / "fitted", tmp_path / "run")


def signals_of(corpus: Corpus) -> np.ndarray:
    return corpus.signals(np.arange(len(corpus)))


def test_a_readout_with_beats_ranks_findings_by_the_codes_and_h_rhythm_as_before(place, tmp_path):
    write_corpus(tmp_path / "wfdb", 15, 1, diagnoses=FINDINGS)
    prepare([tmp_path / "wfdb"], tmp_path / "corpus", jobs=1)
    corpus = Corpus.open(tmp_path / "corpus")
    task = SimpleNamespace(classes=FINDINGS, concepts={name: (name,) for name in FINDINGS})
    logits: dict[tuple[str, str], np.ndarray] = {}
    for run in ("run", "fitted"):
        model = MarEcg.from_pretrained(place / run)
        for readout in ("wide", "beats", "full"):
            x_MF = marecg.embed(model, signals_of(corpus), fs=500, readout=readout).wide
            trial = zero_shot(model, x_MF, task, model.ontology, readout=readout)
            logits[run, readout] = trial.logits_MK
    np.testing.assert_array_equal(logits["run", "beats"], logits["run", "wide"])
    np.testing.assert_allclose(logits["run", "full"], logits["run", "wide"], rtol=1e-5)
    np.testing.assert_array_equal(logits["fitted", "wide"], logits["run", "wide"])
    y_MK = corpus.y[:, [corpus.ontology().node(name).index for name in FINDINGS]]
    for readout in ("beats", "full"):
        before, after = (class_auc(y_MK, logits[run, readout]).mean() for run in ("run", "fitted"))
        assert after > max(0.9, before + 0.1)


def test_the_score_from_the_full_readout_is_the_mean_of_regressions_on_its_views(place):
    model, corpus = MarEcg.from_pretrained(place / "fitted"), Corpus.open(place / "corpus")
    x_MV = marecg.embed(model, signals_of(corpus), fs=500, readout="full").wide
    y_MN = marked(model.ontology, corpus.y).astype(float)
    expected_MN = np.zeros(y_MN.shape)
    for columns in views(model.config, "full"):
        x_MF = x_MV[:, columns].astype(float)
        weight_F = part_weights(model.config, "full")[columns]
        z_MF = (x_MF - x_MF.mean(0)) * weight_F / (x_MF.std(0) + 1e-6)
        weight_FN, bias_N, _ = ridge(z_MF, y_MN)
        expected_MN += (z_MF @ weight_FN + bias_N) / 3
    found = model.concept_scores.ridges["full"]
    np.testing.assert_allclose(x_MV @ found.weight_NV.T + found.bias_N, expected_MN, atol=1e-3)


def test_shares_and_embeddings_are_those_of_the_model_without_concept_scores(place):
    signals = signals_of(Corpus.open(place / "corpus"))[:4]
    plain, fitted = (marecg.predict(place / run, signals, fs=500) for run in ("run", "fitted"))
    np.testing.assert_array_equal(np.asarray(plain), np.asarray(fitted))
    plain, fitted = (marecg.embed(place / run, signals, fs=500).rhythm for run in ("run", "fitted"))
    np.testing.assert_array_equal(plain, fitted)


def test_concept_scores_travel_with_their_weights_and_with_no_others(fitted, tmp_path):
    model = MarEcg.from_pretrained(fitted)
    model.save_pretrained(tmp_path / "copy")
    again = MarEcg.from_pretrained(tmp_path / "copy")
    assert again.concept_scores.sha256 == model.concept_scores.sha256
    assert "on the codes of 45 coded records" in (tmp_path / "copy" / "README.md").read_text()
    with torch.no_grad():
        model.to_concepts.weight.mul_(2)
    model.save_pretrained(tmp_path / "tuned")
    assert MarEcg.from_pretrained(tmp_path / "tuned").concept_scores is None
    shutil.copy(tmp_path / "copy" / FILE, tmp_path / "tuned")
    with pytest.raises(CheckpointError, match="other weights"):
        MarEcg.from_pretrained(tmp_path / "tuned")


def test_a_damaged_file_is_one_clear_error(fitted):
    content = (fitted / "model" / FILE).read_bytes()
    (fitted / "model" / FILE).write_bytes(content[:-8])
    with pytest.raises(CheckpointError, match="has no concept scores"):
        MarEcg.from_pretrained(fitted)
    flipped = bytearray(content)
    flipped[-2000] ^= 1
    (fitted / "model" / FILE).write_bytes(flipped)
    with pytest.raises(CheckpointError, match=r"is damaged .*SHA-256"):
        MarEcg.from_pretrained(fitted)


def test_the_card_counts_the_records_whose_codes_the_scores_were_fitted_on(fitted):
    card = (fitted / "model" / "README.md").read_text(encoding="utf-8")
    start = "| concept scores | "
    row = next(line for line in card.splitlines() if line.startswith(start))
    by = "45 coded records: 45 from other collections"
    assert row == f"{start}prototypes, and a ridge regression on the codes of {by} |"


def test_records_that_the_run_never_saw_do_not_teach(fitted, tmp_path):
    write_corpus(tmp_path / "wfdb", 3, 2, diagnoses=("AF", "NSR"))
    prepare([tmp_path / "wfdb"], tmp_path / "unseen", jobs=1)
    with pytest.raises(CorpusError, match="at least 20 coded records that the model was trained on, got 0"):
        write_concept_scores(fitted, tmp_path / "unseen")


def test_sources_whose_codes_were_not_read_do_not_teach(place, fitted):
    (source,) = set(Corpus.open(place / "corpus").sources)
    with pytest.raises(CorpusError, match="at least 20 coded records that the model was trained on, got 0"):
        write_concept_scores(fitted, place / "corpus", without=[source])


def test_scores_of_teaching_records_are_those_of_a_fit_without_the_record(monkeypatch):
    monkeypatch.setattr(fit_concept_scores, "ALPHAS", (5.0,))
    generator = np.random.default_rng(0)
    x_TF, y_TN = generator.normal(size=(20, 4)), (generator.random((20, 2)) < 0.4).astype(float)
    weight_FN, bias_N, left_out_TN = ridge(x_TF, y_TN)
    np.testing.assert_allclose(x_TF @ weight_FN + bias_N, Ridge(5.0).fit(x_TF, y_TN).predict(x_TF))
    for row in (0, 7):
        rest = np.arange(20) != row
        without = Ridge(5.0).fit(x_TF[rest], y_TN[rest]).predict(x_TF[[row]])[0]
        np.testing.assert_allclose(left_out_TN[row], without, atol=0.02)
