"""Coverage, and the tables that codes are read from."""

import csv
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from ecg_base import InputError, UsageError
from ecg_ontology import Status
from ecg_ontology.codes.corpus_codes import CorpusCodes, corpus_of, read_corpus
from ecg_ontology.codes.coverage import coverage_of


def test_the_official_map_has_110_codes_in_the_paper_s_corpus_and_leaves_two_leaves_without_support(
    onto, realdata
):
    corpus = read_corpus(realdata / "meta" / "dx_map.csv")
    coverage = coverage_of(onto, corpus)
    assert corpus.sources == ("Ningbo", "Georgia", "PTB")
    assert len(coverage.codes) == 110
    assert coverage.unsupported == ("OMI", "InfMI")
    assert coverage.records is None
    with (realdata / "meta" / "dx_map.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["code"]: row for row in csv.DictReader(file)}
    for use in coverage.codes:
        assert use.records == sum(int(rows[use.code][source]) for source in corpus.sources)


def test_other_columns_of_a_table_are_counted_on_request(onto, realdata):
    table = realdata / "meta" / "dx_map.csv"
    codes = coverage_of(onto, read_corpus(table, ["CPSC"])).codes
    assert (len(codes), codes[0].code) == (9, "59118001")


AF, SINUS = "164889003", "426783006"
RECORDS = ((AF, SINUS), ("427084000", "427172004"), (), ("164931005", "270492004"), (SINUS, AF))


def test_the_codes_of_records_are_counted_once_a_record(onto):
    corpus = corpus_of(Path("records"), iter(RECORDS))
    assert (corpus.name, corpus.records) == ("records", RECORDS)
    assert corpus.counts[AF] == corpus.counts[SINUS] == 2
    coverage = coverage_of(onto, corpus)
    assert (coverage.records.without_leaf, coverage.records.normal_primary) == (1, 2)
    assert coverage.records.codes_per_record == {0: 1, 2: 4}
    assert [coverage.leaves[leaf] for leaf in ("AF", "NSR", "PVC", "1AVB")] == [2, 2, 1, 1]
    assert coverage.by_status[Status.invalid] == 0
    # Under the other rule no record is normal beside a pathology.
    assert coverage_of(onto, corpus, "most-specific").records.normal_primary == 0


@pytest.mark.parametrize("words", [pa.string(), pa.dictionary(pa.int32(), pa.string())])
def test_lists_of_codes_are_read_from_a_parquet_table(tmp_path, words):
    table = pa.table({"codes": pa.array(map(list, RECORDS), pa.list_(words)), "name": list("abcde")})
    parquet.write_table(table, tmp_path / "codes.parquet")
    assert read_corpus(tmp_path / "codes.parquet").records == RECORDS


def test_the_statements_of_ptb_xl_are_read_from_its_database(onto, realdata):
    coverage = coverage_of(onto, read_corpus(realdata / "ptbxl" / "ptbxl_database.csv"))
    with (realdata / "ptbxl" / "ptbxl_database.csv").open(encoding="utf-8", newline="") as file:
        statements = [row["scp_codes"] for row in csv.DictReader(file)]
    assert coverage.records.records == len(statements) == 912
    assert coverage.records.without_leaf < 10
    assert set(coverage.by_status) == set(Status)
    assert coverage.by_status[Status.unknown] == coverage.by_status[Status.invalid] == 0
    norm = next(use for use in coverage.codes if use.code == "scp:NORM")
    assert norm.records == sum("'NORM'" in text for text in statements)


def test_a_statement_of_any_spelling_is_read(tmp_path):
    rows = ["\"{'PRC(S)': 0.0, '1AVB': 100.0}\"", "{}", "{'STD_':50}"]
    table = "\n".join(["ecg_id,scp_codes", *(f"{n},{row}" for n, row in enumerate(rows))])
    (tmp_path / "ptbxl_database.csv").write_text(table, encoding="utf-8")
    assert read_corpus(tmp_path / "ptbxl_database.csv").records == (
        ("scp:PRC(S)", "scp:1AVB"),
        (),
        ("scp:STD_",),
    )


def test_a_code_that_a_record_repeats_counts_once(onto):
    corpus = CorpusCodes(name="", counts={"164889003": 1}, records=(("164889003", "164889003"),))
    assert coverage_of(onto, corpus).leaves["AF"] == 1


@pytest.mark.parametrize(
    ("name", "text", "error", "says"),
    [
        ("t.csv", "a,b\n1,2\n", InputError, "no column `code`"),
        ("t.csv", "", InputError, "no column `code`"),
        ("t.csv", "code,n\n164889003,2\n", UsageError, "no column count"),
        ("t.csv", "code,count\n164889003,many\n", InputError, "must be a whole number, got 'many'"),
        ("t.csv", "code,count\n164889003\n", InputError, "2 cells like the header, got 1"),
        (
            "t.csv",
            "code,count\n164889003,2\n 164889003,5\n",
            InputError,
            "164889003 must have one row, got a second row in line 3",
        ),
        ("t.csv", "ecg_id,scp_codes\n1,{'SR'\n", InputError, "got \"{'SR'\" in line 2"),
        ("t.parquet", "no parquet", InputError, "isn't a Parquet table"),
        ("t.csv", "ecg_id,scp_codes\n1,{}\n", InputError, "has no code in any of its 1 records"),
        ("t.none", None, InputError, "doesn't exist"),
        ("", None, InputError, "is a folder"),
    ],
)
def test_a_corpus_that_cannot_be_read_is_refused_in_one_line(tmp_path, name, text, error, says):
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(error, match=says) as caught:
        read_corpus(tmp_path / name)
    assert "\n" not in str(caught.value)
