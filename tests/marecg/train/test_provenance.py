"""A model says whose records and codes taught it, by no name that is not public."""

import json

from tests.marecg.train.runs import relabelled

import ecg_ontology
from marecg.corpus.prepared import Corpus
from marecg.model.mar_ecg import MarEcg
from marecg.recipes.overrides import override
from marecg.train.run import train


def test_a_model_names_no_folder_of_the_users_and_counts_the_records_of_each_concept(
    corpus_folder, micro, tmp_path
):
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
