"""A model goes by its run, its place on the hub or its installed name, and a path asks no server."""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.marecg.hub import fake_hub

from marecg.errors import CheckpointError
from marecg.model import pretrained
from marecg.model.mar_ecg import MarEcg
from marecg.model.names import installed, names_model
from marecg.model.pretrained import folder_of


def refuse_network(*_: object, **__: object) -> str:
    raise AssertionError("the network was asked")


def test_a_run_folder_stands_for_the_model_in_it(saved, monkeypatch):
    monkeypatch.setattr(pretrained, "snapshot_download", refuse_network)
    monkeypatch.chdir(saved.parent.parent)
    assert MarEcg.from_pretrained("run").config == MarEcg.from_pretrained("run/model").config


def test_without_network_a_hub_id_is_one_clear_error(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(CheckpointError, match=r"\A.*isn't a local folder, and can't be downloaded.*\Z"):
        MarEcg.from_pretrained("someone/mar-ecg", cache_dir=tmp_path)


@pytest.mark.parametrize(
    "given",
    [
        *("nowhere", "./no/model", "/no/where", "run/modell", "a/b/c", Path("some/model")),
        *("x" * 300, "owner/" + "x" * 300, "~nobody-of-this-name/x", "a\0b"),
    ],
)
def test_a_path_that_is_not_there_asks_no_server(saved, given, monkeypatch):
    monkeypatch.setattr(pretrained, "snapshot_download", refuse_network)
    monkeypatch.chdir(saved.parent.parent)
    with pytest.raises(CheckpointError, match="is not a folder"):
        MarEcg.from_pretrained(given)


def test_pushing_uploads_the_model_and_its_card(saved, monkeypatch):
    uploaded: dict[str, Any] = {}
    monkeypatch.setattr("huggingface_hub.hub_mixin.HfApi", fake_hub(uploaded))
    model = MarEcg.from_pretrained(saved)
    address = model.save_pretrained(saved, push_to_hub=True, repo_id="someone/mar-ecg")
    assert address == "https://example.org/commit"
    assert uploaded["repo_id"] == "someone/mar-ecg"
    assert uploaded["files"] == {*pretrained.FILES, "README.md"}


def test_an_installed_model_is_found_by_its_name_and_its_package_not_run(saved, tmp_path, monkeypatch):
    package = tmp_path / "marecg_small"
    shutil.copytree(saved, package / "without_ptbxl_codes")
    (package / "__init__.py").write_text("raise AssertionError('it was imported')", encoding="utf-8")
    monkeypatch.delitem(sys.modules, "marecg_small", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    loaded = MarEcg.from_pretrained("marecg-small")
    assert loaded.config == MarEcg.from_pretrained(saved).config
    with pytest.raises(CheckpointError, match=r"Did you mean marecg-small\?"):
        MarEcg.from_pretrained("marecg-smal")
    assert names_model("marecg-small")
    assert not names_model("marecg-smal")


def test_what_names_a_model_is_told_from_what_names_a_record(saved, tmp_path):
    assert names_model(saved)
    assert names_model("owner/name")
    (tmp_path / "record.hea").touch()
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "ontology.json").touch()
    for record in (tmp_path, tmp_path / "corpus", tmp_path / "record.hea", tmp_path / "record", "record.npy"):
        assert not names_model(record)


def test_the_packaged_model_that_is_missing_is_named_with_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "marecg_small", None)
    with pytest.raises(CheckpointError, match=r"not installed. Install the package marecg-small"):
        MarEcg.from_pretrained("marecg-small")


def test_a_folder_that_is_only_called_as_an_installed_model_is_not_taken_for_it(saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "marecg-small").mkdir()
    (tmp_path / "marecg-small" / "notes.txt").touch()
    assert folder_of("marecg-small") == installed("marecg-small")
    shutil.copytree(saved, tmp_path / "marecg-small-codes")
    assert folder_of("marecg-small-codes").resolve() == tmp_path / "marecg-small-codes"
