"""The paper's corpus tables, from a corpus."""

import json
from pathlib import Path

import pytest
from tests.made_records import make_record

from marecg.corpus.prepare import prepare
from marecg.corpus.statistics import statistics
from marecg.errors import CorpusError


def test_the_tables_add_up(source, tmp_path):
    make_record(source / "georgia", "E00009", comments=["Dx: 6374002,251238007,STE,,abc"])
    prepare([source], tmp_path / "corpus", jobs=1)
    tables = statistics(tmp_path / "corpus")
    assert (tables.found, tables.kept, sum(tables.quarantined.values())) == (9, 6, 3)
    assert sum(each.share for each in tables.sources.values()) == pytest.approx(1)
    assert tables.sources["ptb"].fs == ("500", "1000")
    expected = {"mean": 1.3333, "median": 1, "min": 1, "max": 3, "histogram": {"1": 5, "3": 1}}
    assert tables.as_json()["codes_per_record"] == expected
    assert tables.codes.unique == 6
    assert tables.codes.not_routed["unknown"] == {"251238007": 1}
    assert (tables.leaves["NSR"], tables.leaves["AntMI"], tables.leaves["Paced"]) == (3, 2, 0)
    assert tables.rpeaks.records_with == 6
    assert tables.seconds.padded == 1
    assert tables.duplicates == 1
    assert tables.notes == {
        "an empty code": 1,
        "code … given twice": 1,
        "label … read as …": 1,
        "malformed code … passed over": 1,
    }
    json.dumps(tables.as_json(), allow_nan=False)


@pytest.fixture
def folder(source, tmp_path) -> Path:
    prepare([source], tmp_path / "corpus", jobs=1)
    return tmp_path / "corpus"


def test_labels_of_another_ontology_are_not_counted_under_this_ones_names(folder):
    about = json.loads((folder / "corpus.json").read_text())
    (folder / "corpus.json").write_text(json.dumps(about | {"ontology_sha256": "0"}))
    with pytest.raises(CorpusError, match="must have the enumeration"):
        statistics(folder)


def test_a_damaged_index_and_a_folder_that_is_no_corpus_are_one_clear_error(folder):
    (folder / "index.parquet").write_bytes(b"x" * 100)
    with pytest.raises(CorpusError, match=r"index\.parquet"):
        statistics(folder)
    with pytest.raises(CorpusError, match="isn't a prepared corpus"):
        statistics(folder.parent)
