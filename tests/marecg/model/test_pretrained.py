"""What `save_pretrained` writes, `from_pretrained` reads: whole, and nothing else."""

import json
import resource
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.marecg.own_graphs import edited

import ecg_ontology
from ecg_ontology.loading import PACKAGED
from ecg_records.signal.leads import LEADS
from marecg.errors import CheckpointError, UsageError
from marecg.model import pretrained
from marecg.model.card import Provenance
from marecg.model.mar_ecg import MarEcg

ONTOLOGY = ecg_ontology.load()


@pytest.fixture
def other_ontology(tmp_path: Path) -> ecg_ontology.Ontology:
    """The packaged one with a node's abbreviation changed."""
    return ecg_ontology.load(edited(PACKAGED, '"LAFB"', '"LAnFB"', tmp_path / "other.json"))


def test_a_saved_model_comes_back_with_every_number(micro, tmp_path):
    model = MarEcg(micro.model)
    model.provenance = Provenance(recipe="micro", steps=6, records=10, sources={"georgia": 10})
    model.save_pretrained(tmp_path / "model")
    again = MarEcg.from_pretrained(tmp_path / "model")
    assert not again.training
    assert (again.config, again.provenance) == (model.config, model.provenance)
    assert again.ontology.sha256 == ONTOLOGY.sha256
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"format": 1}, "(?s)isn't an exported model.*format"),
        ({"ontology": None}, "(?s)isn't an exported model.*ontology"),
        ({"depth": 3}, "(?s)isn't an exported model.*depth"),
        ({"leads": LEADS[::-1]}, "leads"),
    ],
)
def test_a_description_of_another_form_is_refused(saved, change, problem):
    description = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps(description | change))
    with pytest.raises(CheckpointError, match=problem):
        MarEcg.from_pretrained(saved)


def test_a_label_that_was_changed_after_the_model_was_saved_is_refused(saved):
    edited(saved / "ontology.json", "trial fibrillation", "trial flickering")
    with pytest.raises(CheckpointError, match="was changed after the model was saved"):
        MarEcg.from_pretrained(saved)


def test_a_model_is_loaded_whose_ontology_has_a_field_of_another_version(saved):
    edited(saved / "ontology.json", '"concepts": [', '"field": "of another version", "concepts": [')
    description = json.loads((saved / "config.json").read_text())
    description["bundle"] = json.loads((saved / "ontology.json").read_text())["bundle_sha256"]
    (saved / "config.json").write_text(json.dumps(description))
    model = MarEcg.from_pretrained(saved)
    assert model.ontology == ONTOLOGY
    model.save_pretrained(saved)
    assert MarEcg.from_pretrained(saved).ontology == ONTOLOGY


def test_whoever_may_read_the_folder_may_read_the_weights(saved):
    assert {path.stat().st_mode for path in saved.iterdir()} == {(saved / "config.json").stat().st_mode}


@pytest.mark.parametrize(
    ("name", "tensor"),
    [("pool.query", None), ("pool.answer", torch.zeros(1)), ("pool.query", torch.zeros(7, 7))],
    ids=["missing", "extra", "reshaped"],
)
def test_a_missing_extra_or_reshaped_tensor_is_an_error_that_names_it(saved, name, tensor):
    tensors = load_file(saved / "model.safetensors") | {name: tensor}
    save_file({key: each for key, each in tensors.items() if each is not None}, saved / "model.safetensors")
    with pytest.raises(CheckpointError, match=name):
        MarEcg.from_pretrained(saved)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("width", 20_000), ("depth", 10**9), ("depth", 300), ("positions", 10**9)),
        *(("phases", 1 << 20), ("fs", 1 << 20)),
        *(("context", 10**30), ("queries", 10**400), ("tau", float("inf")), ("mlp_ratio", 10**6)),
    ],
)
def test_a_shape_that_the_file_does_not_fill_costs_no_memory_and_no_time(saved, field, value):
    description = json.loads((saved / "config.json").read_text())
    description["model"][field] = value
    (saved / "config.json").write_text(json.dumps(description))
    before = resource.getrusage(resource.RUSAGE_SELF)
    with pytest.raises(CheckpointError, match=r"\A.{,1000}\Z"):
        MarEcg.from_pretrained(saved)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_maxrss - before.ru_maxrss < 200_000  # kB
    assert after.ru_utime - before.ru_utime < 10


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int32])
def test_weights_of_another_type_are_refused(saved, dtype):
    tensors = load_file(saved / "model.safetensors")
    save_file({name: tensor.to(dtype) for name, tensor in tensors.items()}, saved / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"encoder\.\S+ must be F32 \[.*\], got \w+ \["):
        MarEcg.from_pretrained(saved)


def test_weights_that_are_not_finite_are_neither_loaded_nor_saved(saved, tmp_path):
    model = MarEcg.from_pretrained(saved)
    tensors = load_file(saved / "model.safetensors")
    tensors["pool.query"][0] = torch.nan
    save_file(tensors, saved / "model.safetensors")
    without_hash(saved)
    problem = r"pool\.query must be finite, got "
    with pytest.raises(CheckpointError, match=problem):
        MarEcg.from_pretrained(saved)
    model.state_dict()["pool.query"][0] = torch.inf
    with pytest.raises(CheckpointError, match=problem):
        model.save_pretrained(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_loaded_model_does_not_change_when_its_file_does(saved):
    model = MarEcg.from_pretrained(saved)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with (saved / "model.safetensors").open("r+b") as file:
        file.seek(-4000, 2)
        file.write(b"\xff" * 4000)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_another_enumeration_is_refused_and_the_difference_shown(saved, other_ontology):
    with pytest.raises(CheckpointError, match=r"- node \d+ Leaf LAnFB .*\+ node \d+ Leaf LAFB "):
        MarEcg.from_pretrained(saved, ontology=other_ontology)
    other_ontology.save(saved / "ontology.json")
    with pytest.raises(CheckpointError, match=r"- node \d+ Leaf LAFB .*\+ node \d+ Leaf LAnFB "):
        MarEcg.from_pretrained(saved)


def test_an_own_graph_travels_with_its_model(micro, tmp_path, other_ontology):
    MarEcg(micro.model, other_ontology).save_pretrained(tmp_path / "model")
    assert MarEcg.from_pretrained(tmp_path / "model").ontology.sha256 == other_ontology.sha256
    ONTOLOGY.save(tmp_path / "model" / "ontology.json")
    with pytest.raises(CheckpointError, match="must have the enumeration"):
        MarEcg.from_pretrained(tmp_path / "model")


@pytest.mark.parametrize("file", pretrained.FILES)
@pytest.mark.parametrize("content", [None, b"", b"{}", b"\x00" * 100])
def test_a_missing_or_damaged_file_is_one_clear_error(saved, file, content):
    (saved / file).unlink()
    if content is not None:
        (saved / file).write_bytes(content)
    with pytest.raises(CheckpointError, match=rf"\A.*{saved}.*\Z"):
        MarEcg.from_pretrained(saved)


def test_saving_never_removes_what_is_no_model(micro, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match=r"thesis\.tex"):
        MarEcg(micro.model).save_pretrained(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_the_card_says_what_the_model_is_and_what_it_is_not(micro, tmp_path):
    model = MarEcg(micro.model)
    counts = {"sources": {"georgia": 7, "ptb": 3}, "others": 2, "support": {"AF": 2, "NSR": 9, "LVH": 0}}
    model.provenance = Provenance(recipe="micro", steps=6, records=12, **counts)
    model.save_pretrained(tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    for fact in (
        "license: apache-2.0",
        "`micro`, 6 optimiser steps",
        "12 records: georgia 7, ptb 3, 2 from other collections",
        "NSR 9, AF 2; no records: LVH",
        "500 Hz",
        "aVR, aVL, aVF",
        ONTOLOGY.sha256,
        "not trained with GSCL",
        "not a medical device",
    ):
        assert fact in card


def test_weights_with_another_hash_are_refused_and_models_without_one_are_older(saved):
    path = saved / "model.safetensors"
    content = path.read_bytes()
    for end in (bytes([content[-4], content[-3], content[-2] ^ 1, content[-1]]), b"\xff\xff\xff\xff"):  # NaN
        path.write_bytes(content[:-4] + end)
        with pytest.raises(CheckpointError, match=r"model\.safetensors: is damaged .*SHA-256"):
            MarEcg.from_pretrained(saved)
    path.write_bytes(content[:-2] + bytes([content[-2] ^ 1, content[-1]]))
    without_hash(saved)
    MarEcg.from_pretrained(saved)


def without_hash(folder):
    """Make a model one of an older version, whose description has no hash of the weights."""
    about = json.loads((folder / "config.json").read_text())
    del about["weights"]
    (folder / "config.json").write_text(json.dumps(about))
