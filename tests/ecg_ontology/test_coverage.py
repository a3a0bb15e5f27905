"""Coverage and the three kinds of corpus that codes are read from."""

import csv
import os

import pyarrow as pa
import pytest
from pyarrow import parquet

import ecg_ontology
from ecg_ontology import InputError, Status, UsageError
from ecg_ontology.corpora import CorpusCodes


def test_the_official_map_has_110_codes_in_the_paper_s_corpus_and_leaves_two_leaves_without_support(
    onto, realdata
):
    corpus = ecg_ontology.read_corpus(realdata / "meta" / "dx_map.csv")
    found = ecg_ontology.coverage_of(onto, corpus)
    assert corpus.sources == ("Ningbo", "Georgia", "PTB")
    assert len(found.codes) == 110
    assert found.unsupported == ("OMI", "InfMI")
    assert found.records is None
    with (realdata / "meta" / "dx_map.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["code"]: row for row in csv.DictReader(file)}
    for use in found.codes:
        assert use.records == sum(int(rows[use.code][source]) for source in corpus.sources)


def test_other_columns_of_a_table_are_counted_on_request(onto, realdata):
    table = realdata / "meta" / "dx_map.csv"
    found = ecg_ontology.coverage_of(onto, ecg_ontology.read_corpus(table, ["CPSC"]))
    assert len(found.codes) == 9
    assert found.codes[0].code == "59118001"


def test_real_headers_are_read_with_all_their_oddities(onto, realdata):
    corpus = ecg_ontology.read_corpus(realdata / "cinc2021")
    found = ecg_ontology.coverage_of(onto, corpus)
    assert found.records is not None
    assert found.records.records == 236
    assert sum(found.records.codes_per_record.values()) == 236
    assert not {use.code for use in found.codes if use.status is Status.invalid}


HEADERS = {
    "a/a.hea": "a 12 500 5000\n#Age: 60\n#Dx: 164889003,426783006\n",
    "b.hea": "b 12 500 5000\r\n# Dx: 427084000,,427172004\r\n",
    "c.hea": "c 12 500 5000\n#Dx: \n#Rx: Unknown\n",
    "d.hea": "d 12 500 5000\n#Dx: STE\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in HEADERS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    return tmp_path


def test_headers_give_their_codes_and_nothing_else(onto, folder):
    corpus = ecg_ontology.read_corpus(folder)
    assert corpus.records == (("164889003", "426783006"), ("427084000", "427172004"), (), ("164931005",))
    found = ecg_ontology.coverage_of(onto, corpus)
    assert found.records.without_leaf == 1
    assert found.records.normal_primary == 1
    assert found.records.codes_per_record == {0: 1, 1: 1, 2: 2}
    assert found.leaves["AF"] == found.leaves["NSR"] == found.leaves["PVC"] == 1
    assert found.by_status[Status.invalid] == 0


def test_under_most_specific_no_record_is_normal_beside_a_pathology(onto, folder):
    found = ecg_ontology.coverage_of(onto, ecg_ontology.read_corpus(folder), "most-specific")
    assert found.records.normal_primary == 0


@pytest.mark.parametrize("words", [pa.string(), pa.dictionary(pa.int32(), pa.string())])
def test_lists_of_codes_are_read_from_a_parquet_table(folder, tmp_path, words):
    codes = [list(record) for record in ecg_ontology.read_corpus(folder).records]
    table = pa.table({"codes": pa.array(codes, pa.list_(words)), "name": ["a", "b", "c", "d"]})
    parquet.write_table(table, tmp_path / "codes.parquet")
    found = ecg_ontology.read_corpus(tmp_path / "codes.parquet")
    assert found.records == ecg_ontology.read_corpus(folder).records


def test_the_statements_of_ptb_xl_are_read_from_its_database(onto, realdata):
    found = ecg_ontology.coverage_of(onto, ecg_ontology.read_corpus(realdata / "ptbxl"))
    with (realdata / "ptbxl" / "ptbxl_database.csv").open(encoding="utf-8", newline="") as file:
        statements = [row["scp_codes"] for row in csv.DictReader(file)]
    assert found.records.records == len(statements) == 912
    assert found.records.without_leaf < 10
    assert set(found.by_status) == set(Status)
    assert sum(found.by_status[status] for status in (Status.unknown, Status.invalid)) == 0
    norm = next(use for use in found.codes if use.code == "scp:NORM")
    assert norm.records == sum("'NORM'" in text for text in statements)


def test_a_statement_of_any_spelling_is_read(tmp_path):
    rows = ["\"{'PRC(S)': 0.0, '1AVB': 100.0}\"", "{}", "{'STD_':50}"]
    table = "\n".join(["ecg_id,scp_codes", *(f"{n},{row}" for n, row in enumerate(rows))])
    (tmp_path / "ptbxl_database.csv").write_text(table, encoding="utf-8")
    assert ecg_ontology.read_corpus(tmp_path).records == (("scp:PRC(S)", "scp:1AVB"), (), ("scp:STD_",))


def test_a_code_that_a_record_repeats_is_counted_once_for_it(tmp_path):
    (tmp_path / "a.hea").write_text("#Dx: 164889003,164889003\n", encoding="utf-8")
    (tmp_path / "b.hea").write_text("#Dx: 164889003\n", encoding="utf-8")
    assert ecg_ontology.read_corpus(tmp_path).counts == {"164889003": 2}


def test_a_folder_that_ends_like_a_header_is_searched_and_not_read(tmp_path):
    (tmp_path / "a.hea").mkdir()
    (tmp_path / "a.hea" / "b.hea").write_text("#Dx: 164889003\n", encoding="utf-8")
    assert ecg_ontology.read_corpus(tmp_path).records == (("164889003",),)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("nowhere")])
def test_a_header_that_is_no_file_is_refused_and_not_waited_for(tmp_path, make):
    make(tmp_path / "a.hea")
    with pytest.raises(InputError, match=r"a\.hea: isn't a file"):
        ecg_ontology.read_corpus(tmp_path)


def test_another_line_separator_than_a_line_feed_ends_no_comment(tmp_path):
    (tmp_path / "a.hea").write_text("#Dx: 164889003\u2028,426783006\n", encoding="utf-8")
    assert ecg_ontology.read_corpus(tmp_path).records == (("164889003", "426783006"),)


def test_a_code_that_a_record_repeats_counts_once():
    onto = ecg_ontology.load()
    corpus = CorpusCodes(name="", counts={"164889003": 1}, records=(("164889003", "164889003"),))
    assert ecg_ontology.coverage_of(onto, corpus).leaves["AF"] == 1


@pytest.mark.parametrize(
    ("name", "text", "error", "says"),
    [
        ("t.csv", "a,b\n1,2\n", InputError, "no column `code`"),
        ("t.csv", "", InputError, "no column `code`"),
        ("t.csv", "code,n\n164889003,2\n", UsageError, "no column count"),
        ("t.csv", "code,count\n164889003,many\n", InputError, "counts 'many' records"),
        ("t.csv", "code,count\n164889003\n", InputError, "1 cells, and its header 2"),
        ("t.csv", "code,count\n164889003,2\n 164889003,5\n", InputError, "line 3 counts 164889003 a second"),
        ("t.csv", "ecg_id,scp_codes\n1,{'SR'\n", InputError, "line 2 names its statements as"),
        ("t.parquet", "no parquet", InputError, "isn't a Parquet table"),
        ("a.hea", "a 12 500 5000\n#Age: 60\n", InputError, "names no code in any of its 1 records"),
        ("readme.txt", "", InputError, "holds no WFDB header"),
    ],
)
def test_a_corpus_that_cannot_be_read_is_refused_in_one_line(tmp_path, name, text, error, says):
    (tmp_path / name).write_text(text, encoding="utf-8")
    path = tmp_path / name if name.startswith("t.") else tmp_path
    with pytest.raises(error, match=says) as caught:
        ecg_ontology.read_corpus(path)
    assert "\n" not in str(caught.value)


def test_a_corpus_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="is not there"):
        ecg_ontology.read_corpus(tmp_path / "nowhere")
