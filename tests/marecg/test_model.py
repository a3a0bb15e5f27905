"""The model and what a run leaves behind."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import ecg_ontology
from marecg.config import Config
from marecg.errors import CheckpointError, UsageError
from marecg.model import MarEcg

ONTOLOGY = ecg_ontology.load()


@pytest.fixture
def saved(micro: Config, tmp_path: Path) -> Path:
    MarEcg(micro.model).save_pretrained(tmp_path / "model", ONTOLOGY)
    return tmp_path / "model"


def test_a_saved_model_comes_back_with_every_number(micro: Config, tmp_path: Path) -> None:
    model = MarEcg(micro.model)
    model.save_pretrained(tmp_path / "model", ONTOLOGY)
    again = MarEcg.from_pretrained(tmp_path / "model")
    assert not again.training
    assert again.config == model.config
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in model.state_dict().items())


def test_the_ontology_travels_with_the_model(saved: Path) -> None:
    assert ecg_ontology.load(saved / "ontology.json").sha256 == ONTOLOGY.sha256


@pytest.mark.parametrize("fault", ["missing", "extra", "reshaped"])
def test_a_missing_extra_or_reshaped_tensor_is_an_error_that_names_it(saved: Path, fault: str) -> None:
    tensors = load_file(saved / "model.safetensors")
    if fault == "missing":
        del tensors["pool.query"]
    elif fault == "extra":
        tensors["pool.answer"] = torch.zeros(1)
    else:
        tensors["pool.query"] = torch.zeros(7, 7)
    save_file(tensors, saved / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"pool\.answer" if fault == "extra" else r"pool\.query"):
        MarEcg.from_pretrained(saved)


def test_other_leads_are_refused(saved: Path) -> None:
    description = json.loads((saved / "config.json").read_text())
    description["leads"].reverse()
    (saved / "config.json").write_text(json.dumps(description))
    with pytest.raises(CheckpointError, match="leads"):
        MarEcg.from_pretrained(saved)


@pytest.mark.parametrize("file", ["config.json", "model.safetensors"])
@pytest.mark.parametrize("content", [None, b"", b"{}", b"\x00" * 100])
def test_a_missing_or_damaged_file_is_one_clear_error(saved: Path, file: str, content: bytes | None) -> None:
    if content is None:
        (saved / file).unlink()
    else:
        (saved / file).write_bytes(content)
    with pytest.raises(CheckpointError, match=str(saved)):
        MarEcg.from_pretrained(saved)


def test_padding_does_not_change_what_the_model_says_of_the_rest(micro: Config) -> None:
    model = MarEcg(micro.model).eval()
    x = torch.randn(1, 12, 3500)
    x[..., 2000:] = 0
    noise = x.clone()
    noise[..., 2000:] = 7.0
    n_valid = torch.tensor([2000])
    torch.testing.assert_close(model(x, n_valid).rhythm_BD, model(noise, n_valid).rhythm_BD)


def test_a_model_without_gscl_refuses_to_speak_of_concepts(micro: Config) -> None:
    with pytest.raises(UsageError, match="without GSCL"):
        MarEcg(micro.model).concept_logits(torch.randn(1, 16))
