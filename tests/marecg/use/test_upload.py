"""A model goes to the hub with its card, or one line says why not."""

from pathlib import Path
from typing import Any

import pytest
from huggingface_hub.errors import HTTPError
from tests.marecg.hub import fake_hub

from marecg.base.errors import OutputError, UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.recipes import Config
from marecg.use import upload as uploading


@pytest.fixture
def folder(micro: Config, tmp_path: Path) -> Path:
    MarEcg(micro.model).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_without_a_token_nothing_is_sent(folder, monkeypatch):
    monkeypatch.setattr(uploading, "get_token", lambda: None)
    with pytest.raises(UsageError, match="HF_TOKEN"):
        uploading.upload(folder, "someone/mar-ecg")


def test_a_model_and_its_card_are_sent(folder, monkeypatch):
    sent: dict[str, Any] = {}
    monkeypatch.setattr("huggingface_hub.hub_mixin.HfApi", fake_hub(sent))
    monkeypatch.setattr(uploading, "get_token", lambda: "hf_secret")
    assert uploading.upload(folder, "someone/mar-ecg") == "https://example.org/commit"
    assert {"README.md", "config.json", "model.safetensors", "ontology.json"} == sent["files"]


def test_a_hub_that_cannot_be_reached_is_one_line(folder, monkeypatch):
    def unreachable(*_: object, **__: object) -> None:
        raise HTTPError("no route\nto host")

    monkeypatch.setattr(MarEcg, "push_to_hub", unreachable)
    monkeypatch.setattr(uploading, "get_token", lambda: "hf_secret")
    with pytest.raises(OutputError, match=r"someone/mar-ecg: can't be uploaded \(no route\)"):
        uploading.upload(folder, "someone/mar-ecg")


def test_a_classifier_is_refused_before_its_head_is_lost(folder, tmp_path):
    (tmp_path / "classifier.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError, match="is a classifier"):
        uploading.upload(tmp_path, "someone/mar-ecg")
