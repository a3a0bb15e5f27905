"""A corpus under another graph, without its signals being prepared again."""

import re
import shutil

import pytest
from tests.marecg.own_graphs import without_edges

import ecg_ontology
from ecg_ontology import Kind
from marecg.corpus.derived import relabelled
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.errors import CorpusError


def test_it_is_what_preparing_under_that_graph_makes_with_the_same_files_of_signals(corpus_folder, tmp_path):
    graph = without_edges(ecg_ontology.load())
    graph.save(tmp_path / "other.json")
    prepare([corpus_folder.parent / "wfdb"], tmp_path / "prepared", jobs=1, ontology=tmp_path / "other.json")
    made = relabelled(Corpus.open(corpus_folder), graph, tmp_path / "relabelled")
    for name in ("corpus.json", "index.parquet", "ontology.json", "report.json", "shards/00000.npy"):
        assert (made.folder / name).read_bytes() == (tmp_path / "prepared" / name).read_bytes(), name
    for path in (made.folder / "shards").iterdir():
        assert path.samefile(corpus_folder / "shards" / path.name)


def test_it_is_made_once_and_another_graph_is_refused_in_its_place(corpus_folder, tmp_path):
    corpus, real = Corpus.open(corpus_folder), ecg_ontology.load()
    made = relabelled(corpus, without_edges(real), tmp_path / "relabelled")
    before = (made.folder / "index.parquet").stat().st_mtime_ns
    relabelled(corpus, without_edges(real), tmp_path / "relabelled")
    assert (made.folder / "index.parquet").stat().st_mtime_ns == before
    with pytest.raises(CorpusError, match="or another graph"):
        relabelled(corpus, without_edges(real, Kind.ring), tmp_path / "relabelled")


def test_the_corpus_with_corrected_codes_is_not_answered_with_the_old_one(corpus_folder, tmp_path):
    graph = without_edges(ecg_ontology.load())
    relabelled(Corpus.open(corpus_folder), graph, tmp_path / "relabelled")
    source = shutil.copytree(corpus_folder.parent / "wfdb", tmp_path / "wfdb")
    header = min(source.rglob("*.hea"))
    header.write_text(re.sub("#Dx: .*", "#Dx: 164889003", header.read_text()))
    prepare([source], tmp_path / "corrected", jobs=1)
    with pytest.raises(CorpusError, match="other codes or another graph"):
        relabelled(Corpus.open(tmp_path / "corrected"), graph, tmp_path / "relabelled")
