"""What newcomers write first is answered with what they meant."""

import pyarrow as pa
import pytest

import marecg
from marecg.corpus.columns import Texts
from marecg.errors import CheckpointError, EcgError, UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.recipes.overrides import override


def test_a_corpus_by_its_folder_names_open():
    with pytest.raises(UsageError, match=r"Corpus\.open\('corpus'\)"):
        marecg.Corpus("corpus")


def test_a_column_shows_its_content():
    assert repr(Texts(pa.array(["a", "b"]))) == "['a', 'b']"
    assert repr(Texts(pa.array(["a"] * 1000))).endswith("'a', … 1,000 in all]")


def test_a_setting_without_its_group_is_suggested_with_it():
    with pytest.raises(EcgError, match=r"Did you mean train\.max_epochs\?"):
        override(marecg.recipes.tiny(), ["epochs=3"])


def test_a_pointer_of_git_lfs_is_named(micro, tmp_path):
    MarEcg(micro.model).save_pretrained(tmp_path / "m")
    (tmp_path / "m" / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid x\n")
    with pytest.raises(CheckpointError, match="is a Git LFS pointer"):
        MarEcg.from_pretrained(tmp_path / "m")
