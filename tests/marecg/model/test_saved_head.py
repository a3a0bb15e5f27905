"""A fine-tuned network is saved, loaded again, and refused if it is damaged."""

import numpy as np
import pytest
import torch

import marecg
from marecg.errors import CheckpointError, UsageError
from marecg.model.classifier import Classifier
from marecg.model.mar_ecg import MarEcg


@pytest.fixture
def net(micro) -> Classifier:
    torch.manual_seed(0)
    net = MarEcg(micro.model).eval().classifier(3, "rhythm")
    return net.standardise(torch.randn(4, 12, 3500))


def test_a_classifier_that_was_saved_gives_the_same_logits(net, tmp_path):
    x = torch.randn(2, 12, 3500)
    net.save_pretrained(tmp_path / "net")
    net.save_pretrained(tmp_path / "net")
    again = Classifier.from_pretrained(tmp_path / "net")
    assert torch.equal(again(x), net.eval()(x))
    assert MarEcg.from_pretrained(tmp_path / "net").config == net.model.config


def test_a_damaged_classifier_is_refused_and_other_files_stay(net, tmp_path):
    net.save_pretrained(tmp_path / "net")
    (tmp_path / "net" / "head.json").write_text('{"classes": 4, "readout": "rhythm"}')
    with pytest.raises(CheckpointError, match=r"head\.\w+ must be F32 \[4"):
        Classifier.from_pretrained(tmp_path / "net")
    net.save_pretrained(tmp_path / "net")
    content = bytearray((tmp_path / "net" / "head.safetensors").read_bytes())
    content[-2] ^= 1
    (tmp_path / "net" / "head.safetensors").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"head\.safetensors: is damaged .*SHA-256"):
        Classifier.from_pretrained(tmp_path / "net")
    with pytest.raises(CheckpointError):
        Classifier.from_pretrained(tmp_path / "nowhere")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(UsageError):
        net.save_pretrained(tmp_path / "mine")


def test_embed_takes_a_classifier_arrays_of_names_and_numbers_of_numpy(net):
    x = np.random.default_rng(0).normal(size=(2, 2, 3500))
    given = marecg.embed(net, x, fs=500, leads=np.array(["I", "II"]), batch_size=np.int64(4))
    assert np.array_equal(given.rhythm, marecg.embed(net.model, x, fs=500, leads=["I", "II"]).rhythm)
    with pytest.raises(UsageError, match="signals must be an array, got a name"):
        marecg.embed(net, "/data/records", fs=500)
    with pytest.raises(UsageError, match="Give the model first"):
        marecg.embed(x, "marecg-small", fs=500)
    with pytest.raises(UsageError):
        marecg.embed(net, x[:, :2], fs=500, leads="II")


def test_an_embedder_takes_a_model_and_refuses_one_record_without_its_axis(net):
    x = np.random.default_rng(0).normal(size=(12, 6000)).astype(np.float32)
    embedder = marecg.EcgEmbedder(net.model, fs=500)
    with pytest.raises(UsageError, match=r"signals\[None\]"):
        embedder.fit_transform(x)
    assert np.array_equal(embedder.fit_transform(x[None]), marecg.embed(net.model, x[None], fs=500).rhythm)
