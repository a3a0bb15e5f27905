"""A corpus that can't teach what the recipe asks for is refused; evaluation records in one are warned of."""

import json
import shutil

import pytest
from tests.marecg.train.runs import SMALL, relabelled

from marecg.base.errors import CorpusError
from marecg.corpus import index, trained_on
from marecg.corpus.prepared import Corpus
from marecg.recipes import by_name
from marecg.recipes.overrides import override
from marecg.train.run import train


def test_a_corpus_of_another_window_is_refused(corpus_folder, micro, tmp_path):
    with pytest.raises(CorpusError, match=r"window 4700, the recipe has data\.window 4500"):
        train(override(micro, ["data.window=4500"]), corpus_folder, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_corpus_with_evaluation_records_is_warned_of_and_remembered(corpus_folder, micro, tmp_path, caplog):
    data = shutil.copytree(corpus_folder, tmp_path / "corpus")
    rows = index.of(data).to_pylist()
    for number, row in enumerate(rows):
        row |= {"source": "ptb-xl", "id": f"HR{number:05d}"}
    index.write(index.table(rows), data / "index.parquet")
    train(override(micro, ["train.max_steps=1"]), data, tmp_path / "leaking")
    assert "10 records of PTB-XL" in caplog.text
    assert "ptbxl/00003" in trained_on.read(tmp_path / "leaking").identities
    caplog.clear()
    train(override(micro, ["train.max_steps=1"]), corpus_folder, tmp_path / "clean")
    assert "PTB-XL" not in caplog.text


def test_concepts_are_not_taught_where_no_record_has_one(corpus_folder, micro, tmp_path):
    data = relabelled(corpus_folder, tmp_path / "corpus", leaves=[], primary=-1)
    sources = json.dumps(sorted(set(Corpus.open(corpus_folder).sources)))
    unread = override(micro, [f"sampling.without_codes={sources}"])
    for config, folder, taught in (
        (micro, data, "gscl to learn from.* --set gscl=null"),
        (unread, corpus_folder, "gscl to learn from.* --set gscl=null"),
        (override(by_name("tiny-supervised"), SMALL), data, "labels to learn from"),
        (override(by_name("tiny-labels"), SMALL), data, "labels to learn from"),
    ):
        with pytest.raises(CorpusError, match=f"no record has a code .* for {taught}"):
            train(config, folder, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    train(override(micro, ["gscl=null", "train.max_steps=1"]), data, tmp_path / "run")
