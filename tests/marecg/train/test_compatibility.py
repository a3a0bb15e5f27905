"""What a corpus can teach, and whose records and codes a model says have taught it."""

import json
import shutil

import pytest
from tests.marecg.train.runs import relabelled

import ecg_ontology
from marecg.corpus import index, trained_on
from marecg.corpus.prepared import Corpus, read_about
from marecg.errors import CorpusError
from marecg.model.mar_ecg import MarEcg
from marecg.recipes.overrides import override
from marecg.train.run import train


def test_a_corpus_of_another_window_is_refused(pretrain, tmp_path):
    with pytest.raises(CorpusError, match=r"must have the recipe's data\.window 4500, got 4700"):
        pretrain(tmp_path / "run", "data.window=4500")
    assert not (tmp_path / "run").exists()


def test_a_corpus_with_evaluation_records_is_warned_of(pretrain, corpus_folder, micro, tmp_path, caplog):
    data = shutil.copytree(corpus_folder, tmp_path / "corpus")
    rows = index.of(data).to_pylist()
    for number, row in enumerate(rows):
        row |= {"source": "ptb-xl", "id": f"HR{number:05d}"}
    index.complete(data, read_about(data), index.table(rows))
    train(override(micro, ["train.max_steps=1"]), data, tmp_path / "leaking")
    assert "10 records of PTB-XL" in caplog.text
    assert "ptbxl/00003" in trained_on.read(tmp_path / "leaking").identities
    caplog.clear()
    pretrain(tmp_path / "clean", "train.max_steps=1")
    assert "PTB-XL" not in caplog.text


def test_r_peaks_found_otherwise_than_the_recipe_says_are_warned_of(pretrain, tmp_path, caplog):
    pretrain(tmp_path / "same", "train.max_steps=1")
    assert "rpeaks_lead" not in caplog.text
    pretrain(tmp_path / "other", "train.max_steps=1", "data.rpeaks_lead=I")
    assert "prepare it with --set rpeaks_lead=I" in caplog.text


def test_concepts_are_not_taught_where_no_record_has_one(corpus_folder, micro, tmp_path):
    data = relabelled(corpus_folder, tmp_path / "corpus", leaves=[], primary=-1)
    sources = json.dumps(sorted(set(Corpus.open(corpus_folder).sources)))
    unread = override(micro, [f"sampling.without_codes={sources}"])
    for config, folder, taught in (
        (micro, data, "as required by gscl.* --set gscl=null"),
        (unread, corpus_folder, "as required by gscl.* --set gscl=null"),
    ):
        with pytest.raises(CorpusError, match=f"no record has a code of a leaf concept, {taught}"):
            train(config, folder, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    train(override(micro, ["gscl=null", "train.max_steps=1"]), data, tmp_path / "run")


def test_a_model_names_no_folder_of_the_users_and_counts_each_concept(corpus_folder, micro, tmp_path):
    data = relabelled(corpus_folder, tmp_path / "corpus", source="DOE^JOHN_19701231 1")
    train(override(micro, ["train.max_steps=1"]), data, tmp_path / "run")
    for path in (tmp_path / "run/model").iterdir():
        assert b"DOE" not in path.read_bytes()
    about = MarEcg.from_pretrained(tmp_path / "run").provenance
    assert (about.sources, about.others) == ({}, 10)
    y = Corpus.open(corpus_folder).y
    nodes = ecg_ontology.load().nodes
    assert about.support == {node.abbr: int(y[:, node.index].sum()) for node in nodes if not node.root}


def test_a_model_says_the_licence_of_what_taught_it_and_whose_codes_were_read(corpus_folder, micro, tmp_path):
    data = relabelled(corpus_folder, tmp_path / "corpus", source="georgia")
    for without, folder in ((["georgia"], "unread"), ([], "read")):
        changes = [f"sampling.without_codes={json.dumps(without)}", "train.max_steps=1", "gscl=null"]
        train(override(micro, changes), data, tmp_path / folder)
        about = MarEcg.from_pretrained(tmp_path / folder).provenance
        assert about.origins["georgia"].startswith("CC BY 4.0, https://physionet.org/content/challenge-2021")
        assert about.without_codes == tuple(without)
        card = (tmp_path / folder / "model" / "README.md").read_text(encoding="utf-8")
        read = "no" if without else "yes"
        assert f"| georgia | 10 | {about.origins['georgia']} | {read} |" in card
