"""Coverage and the three kinds of corpus that codes are read from."""

import csv
import os

import pyarrow as pa
import pytest
from pyarrow import parquet

import ecg_ontology
from ecg_ontology import InputError, Status, UsageError
from ecg_ontology.codes.corpus_codes import CorpusCodes


def test_the_official_map_has_110_codes_in_the_paper_s_corpus_and_leaves_two_leaves_without_support(
    onto, realdata
):
    corpus = ecg_ontology.read_corpus(realdata / "meta" / "dx_map.csv")
    coverage = ecg_ontology.coverage_of(onto, corpus)
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
    codes = ecg_ontology.coverage_of(onto, ecg_ontology.read_corpus(table, ["CPSC"])).codes
    assert (len(codes), codes[0].code) == (9, "59118001")


def test_real_headers_are_read_with_all_their_oddities(onto, realdata):
    coverage = ecg_ontology.coverage_of(onto, ecg_ontology.read_corpus(realdata / "cinc2021"))
    assert coverage.records.records == sum(coverage.records.codes_per_record.values()) == 236
    assert not {use.code for use in coverage.codes if use.status is Status.invalid}


HEADERS = {
    "a/a.hea": "a 12 500 5000\n#Age: 60\n#Dx: 164889003,426783006\n",
    "b.hea": "b 12 500 5000\r\n# Dx: 427084000,,427172004\r\n",
    "c.hea": "c 12 500 5000\n#Dx: \n#Rx: Unknown\n",
    "d.hea": "d 12 500 5000\n#Dx: STE,I-AVB\n",
    "e.hea/e.hea": "e 12 500 5000\n#Dx: Normal,164889003,426783006,164889003\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in HEADERS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    return tmp_path


def test_headers_give_their_codes_and_nothing_else(onto, folder):
    corpus = ecg_ontology.read_corpus(folder)
    af, sinus = "164889003", "426783006"
    others = (("427084000", "427172004"), (), ("164931005", "270492004"), (sinus, af))
    assert corpus.records == ((af, sinus), *others)
    assert corpus.counts[af] == corpus.counts[sinus] == 2, "once a record"
    coverage = ecg_ontology.coverage_of(onto, corpus)
    assert (coverage.records.without_leaf, coverage.records.normal_primary) == (1, 2)
    assert coverage.records.codes_per_record == {0: 1, 2: 4}
    assert [coverage.leaves[leaf] for leaf in ("AF", "NSR", "PVC", "1AVB")] == [2, 2, 1, 1]
    assert coverage.by_status[Status.invalid] == 0
    # Under the other rule no record is normal beside a pathology.
    assert ecg_ontology.coverage_of(onto, corpus, "most-specific").records.normal_primary == 0


@pytest.mark.parametrize("words", [pa.string(), pa.dictionary(pa.int32(), pa.string())])
def test_lists_of_codes_are_read_from_a_parquet_table(folder, tmp_path, words):
    records = ecg_ontology.read_corpus(folder).records
    table = pa.table({"codes": pa.array(map(list, records), pa.list_(words)), "name": list("abcde")})
    parquet.write_table(table, tmp_path / "codes.parquet")
    assert ecg_ontology.read_corpus(tmp_path / "codes.parquet").records == records


def test_the_statements_of_ptb_xl_are_read_from_its_database(onto, realdata):
    coverage = ecg_ontology.coverage_of(onto, ecg_ontology.read_corpus(realdata / "ptbxl"))
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
    assert ecg_ontology.read_corpus(tmp_path).records == (("scp:PRC(S)", "scp:1AVB"), (), ("scp:STD_",))


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("nowhere")])
def test_a_header_that_is_no_file_is_refused_and_not_waited_for(tmp_path, make):
    make(tmp_path / "a.hea")
    with pytest.raises(InputError, match=r"a\.hea: isn't a file"):
        ecg_ontology.read_corpus(tmp_path)


def test_a_code_that_a_record_repeats_counts_once(onto):
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
        ("t.none", None, InputError, "is not there"),
    ],
)
def test_a_corpus_that_cannot_be_read_is_refused_in_one_line(tmp_path, name, text, error, says):
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = tmp_path / name if name.startswith("t.") else tmp_path
    with pytest.raises(error, match=says) as caught:
        ecg_ontology.read_corpus(path)
    assert "\n" not in str(caught.value)
