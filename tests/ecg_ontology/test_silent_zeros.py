"""No code becomes a row of zeros without a word, and none is taken apart into letters."""

import logging

import pyarrow
import pyarrow.parquet
import pytest
from tests.cli.calls import call

import ecg_ontology
from ecg_base import UsageError
from ecg_ontology import find_concept
from ecg_ontology.base.errors import UnknownConceptError
from ecg_ontology.codes.corpus_codes import read_corpus


def test_strict_refuses_what_routes_nowhere_and_the_default_counts_it(onto, caplog):
    records = [["164889003"], ["164889004", "icd10:X99"]]
    with pytest.raises(
        UsageError, match="1 unknown and 1 invalid of 3 codes are ignored: 'icd10:X99', '164889004'"
    ):
        onto.leaf_multi_hot(records, strict=True)
    with caplog.at_level(logging.WARNING):
        assert onto.leaf_multi_hot(records).sum(axis=1).tolist() == [1, 0]
    assert len(caplog.records) == 1
    caplog.clear()
    onto.leaf_multi_hot(records, strict=None)
    onto.leaf_multi_hot([["164889003", "39732003"]])  # known, and no concept carries it
    assert not caplog.records


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (["164889003,426783006"], "a string must be a single code, got 2 codes in"),
        (["scp:NORM scp:SR"], "a string must be a single code, got 2 codes in"),
        ({"NORM": 100.0}, r"must be a list of codes, got the dictionary .*such as \['scp:NORM'\]"),
        ([164889003.0], "a code must be text"),
        ([1 << 128], "a code must have at most .* bits, got 129"),
        ([10**5000], "a code must have at most"),
    ],
)
def test_what_holds_codes_in_another_form_is_refused(onto, record, problem):
    with pytest.raises(UsageError, match=problem):
        onto.leaf_multi_hot([record])


def test_a_number_that_a_table_made_a_float_is_its_code(onto):
    assert onto.route("164889003.0") == onto.route("164889003")


@pytest.mark.parametrize(
    "cells",
    [
        [["164889003", "426783006"], None],
        [[164889003.0, 426783006.0], []],
        ["164889003,426783006", None],
        ["164889003; 426783006", ""],
    ],
    ids=["texts", "floats", "joined", "joined otherwise"],
)
def test_a_corpus_of_parquet_is_read_however_its_codes_are_kept(tmp_path, cells):
    path = tmp_path / "codes.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"codes": cells}), path)
    assert read_corpus(path).records == (("164889003", "426783006"), ())


def test_coverage_reads_floats_and_fails_where_nothing_is_a_code(tmp_path):
    table = tmp_path / "counts.csv"
    table.write_text("code,count\n164889003.0,3\n", encoding="utf-8")
    code, out, _ = call("coverage", str(table))
    assert code == 0
    assert "1 routed" in out
    table.write_text("code,count\nAFIB,3\n", encoding="utf-8")
    code, out, err = call("coverage", str(table))
    assert code == 1
    assert "no valid codes were found" in err


def test_a_code_of_a_crosswalk_is_named_by_the_commands(onto):
    [note] = onto.route("icd10cm:I48.91").notes
    assert note.startswith("in no routing table. crosswalk.icd10 maps it (")
    assert "{AF}" in note
    assert find_concept(onto, "I48.91").abbr == "AF"


def test_an_ontology_is_a_collection_of_concepts(onto, curated):
    assert onto["AF"] is onto["atrial fibrillation"] is onto[5] is onto.node("Vorhofflimmern")
    assert "AF" in onto
    assert onto["AF"] in onto
    assert "nothing" not in onto
    assert 3.5 not in onto
    assert [concept.index for concept in onto] == list(range(40))
    with pytest.raises(UnknownConceptError):
        onto["nothing"]
    assert ecg_ontology.load() == onto != curated
    assert len({ecg_ontology.load(), onto, curated}) == 2
    assert onto != "an ontology"


def test_an_ontology_as_a_table(onto):
    frame = onto.to_frame()
    assert len(frame) == 40
    assert frame.loc[5, "family"] == "Rhythm"
    assert "164889003" in frame.loc[5, "codes"]
