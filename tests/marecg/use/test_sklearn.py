"""`EcgEmbedder` among scikit-learn's own."""

import pickle
from pathlib import Path
from unittest import SkipTest

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from marecg.corpus.prepared import Corpus
from marecg.embedding.embed import embed
from marecg.errors import CheckpointError, UsageError
from marecg.model.config import ModelConfig
from marecg.model.mar_ecg import MarEcg
from marecg.use.sklearn import EcgEmbedder


@pytest.mark.slow
def test_every_check_of_scikit_learn_that_applies_is_passed(tmp_path):
    """A patch is one sample at 50 Hz, because the checks feed tables of one to twenty columns."""
    torch.manual_seed(0)
    sizes = {"patch": 1, "stride": 1, "context": 30, "positions": 30, "width": 8, "concept_width": 4}
    MarEcg(ModelConfig(fs=50, depth=1, heads=1, **sizes)).save_pretrained(tmp_path / "model")
    passed, skipped = [], []
    for estimator, check in estimator_checks_generator(EcgEmbedder(tmp_path / "model", fs=50, leads=("I",))):
        try:
            check(estimator)
            passed.append(check.func.__name__)
        except SkipTest:  # scikit-learn's own: a library or a variable is not there
            skipped.append(check.func.__name__)
    assert len(passed) > 40
    assert set(skipped) <= {"check_array_api_input"}


@pytest.fixture
def run(micro, tmp_path) -> Path:
    torch.manual_seed(0)
    MarEcg(micro.model).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture(scope="module")
def two_rates():
    """Forty records of two leads at 100 Hz: slow waves and fast ones."""
    rng = np.random.default_rng(0)
    label = np.arange(40) % 2
    time = np.arange(700) / 100
    wave = np.sin(2 * np.pi * (1 + 11 * label)[:, None, None] * time + rng.uniform(0, 6, (40, 2, 1)))
    return wave + 0.1 * rng.normal(size=wave.shape), label


def test_a_pipeline_is_cross_validated_on_two_leads(run, two_rates):
    x, y = two_rates
    embedder = EcgEmbedder(run, fs=100, leads=["II", "V1"])
    pipeline = make_pipeline(embedder, StandardScaler(), LogisticRegression())
    assert cross_val_score(pipeline, x, y, cv=4).mean() > 0.9
    flat = pipeline.fit(x.reshape(len(x), -1), y)
    assert (flat.predict(x.reshape(len(x), -1)) == pipeline.fit(x, y).predict(x)).all()


def test_the_pipeline_of_the_guide_runs_on_a_corpus(run, corpus_folder):
    corpus = Corpus.open(corpus_folder)
    x, y = corpus.signals(range(len(corpus))), np.arange(len(corpus)) % 2
    pipeline = make_pipeline(EcgEmbedder(run, fs=500), StandardScaler(), LogisticRegression())
    assert np.isfinite(cross_val_score(pipeline, x, y, cv=2)).all()


def test_it_gives_what_embed_gives_under_named_columns(run, two_rates):
    x, _ = two_rates
    embedder = EcgEmbedder(run, fs=100, leads=("II", "V1"))
    expected = embed(MarEcg.from_pretrained(run), x, fs=100, leads=("II", "V1")).rhythm
    np.testing.assert_allclose(embedder.fit_transform(x), expected, atol=1e-6)
    assert embedder.get_feature_names_out().tolist() == [f"ecgembedder{column}" for column in range(16)]
    frame = embedder.set_output(transform="pandas").transform(x)
    assert list(frame.columns) == embedder.get_feature_names_out().tolist()


def test_the_wide_readout_is_a_parameter_like_the_others(run, two_rates):
    x, _ = two_rates
    embedder = EcgEmbedder(run, fs=100, leads=("II", "V1"), readout="wide")
    wide = embedder.fit_transform(x)
    assert wide.shape == (40, 16 * 16 + 12)
    assert len(embedder.get_feature_names_out()) == wide.shape[1]
    narrow = clone(embedder).set_params(readout="rhythm")
    np.testing.assert_array_equal(wide[:, :16], narrow.fit_transform(x))
    with pytest.raises(UsageError, match="unknown readout"):
        clone(embedder).set_params(readout="all").fit(x)


def test_clones_and_pickles_carry_the_name_of_the_model_and_not_its_weights(run, two_rates):
    x, _ = two_rates
    embedder = EcgEmbedder(str(run), fs=100, leads=("II", "V1")).fit(x)
    assert clone(embedder).get_params() == embedder.get_params()
    pickled = pickle.dumps(embedder)
    assert len(pickled) < 2000
    np.testing.assert_allclose(pickle.loads(pickled).transform(x), embedder.transform(x), atol=1e-6)  # noqa: S301 (our own)


@pytest.mark.parametrize(
    ("shape", "leads", "problem"),
    [
        ((2, 25), ("I", "II"), "must be a multiple of 2 leads, got 25"),
        ((2, 500, 2), ("I", "II"), "the last axis"),
        ((2, 1, 500), ("X",), "unknown"),
    ],
)
def test_records_that_do_not_fit_the_leads_are_refused(run, shape, leads, problem):
    with pytest.raises(UsageError, match=problem):
        EcgEmbedder(run, fs=100, leads=leads).fit_transform(np.zeros(shape))


def test_a_missing_model_and_a_missing_fit_are_said(tmp_path, run):
    with pytest.raises(CheckpointError, match="not a folder"):
        EcgEmbedder(tmp_path / "nowhere", fs=100).fit(np.zeros((1, 12, 500)))
    with pytest.raises(NotFittedError):
        EcgEmbedder(run).transform(np.zeros((1, 12, 500)))
