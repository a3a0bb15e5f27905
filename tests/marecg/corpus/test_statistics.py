"""The paper's corpus tables, from a corpus."""

import json

import pytest
from tests.marecg.made_records import make_record

from marecg.base.errors import CorpusError
from marecg.corpus.prepare import prepare
from marecg.corpus.statistics import statistics


def test_the_tables_add_up(source, tmp_path):
    make_record(source / "georgia", "E00009", comments=["Dx: 6374002,251238007,STE,,abc"])
    prepare([source], tmp_path / "corpus", jobs=1)
    found = statistics(tmp_path / "corpus")
    assert (found.found, found.kept, sum(found.quarantined.values())) == (9, 6, 3)
    assert sum(each.share for each in found.sources.values()) == pytest.approx(1)
    assert found.sources["ptb"].fs == ("500", "1000")
    assert found.as_json()["codes_per_record"] == {
        "mean": 1.3333,
        "median": 1,
        "min": 1,
        "max": 3,
        "histogram": {"1": 5, "3": 1},
    }
    assert found.codes.unique == 6
    assert found.codes.not_routed["unknown"] == {"251238007": 1}
    assert (found.leaves["NSR"], found.leaves["AntMI"], found.leaves["Paced"]) == (3, 2, 0)
    assert found.rpeaks.records_with == 6
    assert found.seconds.padded == 1
    assert found.duplicates == 1
    assert found.notes == {
        "an empty code": 1,
        "code … given twice": 1,
        "label … read as …": 1,
        "malformed code … passed over": 1,
    }
    json.dumps(found.as_json(), allow_nan=False)


def test_an_empty_corpus_has_tables_too(tmp_path):
    make_record(tmp_path / "in", scale="0/mV")
    prepare([tmp_path / "in"], tmp_path / "corpus", jobs=1)
    assert statistics(tmp_path / "corpus").kept == 0


def test_a_folder_that_is_no_corpus_is_refused(tmp_path):
    with pytest.raises(CorpusError, match="not a prepared corpus"):
        statistics(tmp_path)


def test_labels_of_another_ontology_are_not_counted_under_this_ones_names(source, tmp_path):
    prepare([source], tmp_path / "corpus", jobs=1)
    about = json.loads((tmp_path / "corpus" / "corpus.json").read_text())
    (tmp_path / "corpus" / "corpus.json").write_text(json.dumps(about | {"ontology_sha256": "0"}))
    with pytest.raises(CorpusError, match="another enumeration"):
        statistics(tmp_path / "corpus")


def test_a_damaged_index_is_one_clear_error(source, tmp_path):
    prepare([source], tmp_path / "corpus", jobs=1)
    (tmp_path / "corpus" / "index.parquet").write_bytes(b"x" * 100)
    with pytest.raises(CorpusError, match=r"index\.parquet"):
        statistics(tmp_path / "corpus")
