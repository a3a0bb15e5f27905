"""The #Dx comment."""

import csv

import pytest

from ecg_ontology import CPSC_LABELS, diagnoses, read_corpus
from marecg.read.wfdb_header import read_header


def test_codes_keep_their_order():
    assert diagnoses("59118001, 164889003").codes == ("59118001", "164889003")


def test_an_empty_code_inside_a_list_is_passed_over_and_noted():
    found = diagnoses("427084000,,427172004")
    assert found.codes == ("427084000", "427172004")
    assert found.notes == ("an empty code",)


def test_a_blank_value_means_no_diagnosis():
    assert diagnoses("  ").codes == ()
    assert diagnoses("").notes == ("no diagnosis",)


def test_a_code_outside_the_map_is_kept_for_the_ontology_to_judge():
    assert diagnoses("251238007").codes == ("251238007",)


def test_text_labels_of_early_cpsc_headers_become_codes_and_are_noted():
    found = diagnoses("AF,RBBB")
    assert found.codes == ("164889003", "59118001")
    assert found.notes[0] == "label 'AF' read as 164889003"


def test_a_code_given_twice_counts_once():
    assert diagnoses("251146004,284470004,284470004").codes == ("251146004", "284470004")
    assert diagnoses("RBBB,59118001").codes == ("59118001",)


@pytest.mark.parametrize("token", ["sinus", "12", "0164889003", "164889003x", "1" * 19, "164889003;59118001"])
def test_a_malformed_code_is_passed_over_and_noted(token):
    found = diagnoses(f"{token},426783006")
    assert found.codes == ("426783006",)
    assert "malformed" in found.notes[0]


@pytest.mark.realdata
def test_every_cpsc_label_stands_for_a_code_that_the_official_map_counts_in_cpsc(realdata):
    with (realdata / "meta" / "dx_map.csv").open(newline="") as file:
        in_cpsc = {row["code"]: int(row["CPSC"]) for row in csv.DictReader(file)}
    assert all(in_cpsc[code] > 0 for code in CPSC_LABELS.values())


@pytest.mark.parametrize(
    "comment",
    ["#Dx: 164889003,STE", "# Dx : 164889003,,STE", "  #dx:STE, 164889003", "#Dx: 164889003,STE,164889003"],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028\n"])
def test_coverage_counts_what_a_preparation_reads(tmp_path, comment, end):
    lines = ["a 1 500 10", "a.dat 16 200/mV 16 0 0 0 0 I", comment, "#Dx: 1234567", ""]
    (tmp_path / "a.hea").write_bytes(end.join(lines).encode())
    prepared = diagnoses(read_header(tmp_path / "a.hea", tmp_path).comments["dx"])
    assert set(prepared.codes) == {"164889003", "164931005"}
    [counted] = read_corpus(tmp_path).records or ()
    assert set(counted) == set(prepared.codes)


def test_only_a_line_feed_or_a_return_ends_a_line_of_a_header(tmp_path):
    (tmp_path / "a.hea").write_text(
        "a 1 500 10\na.dat 16 200/mV 16 0 0 0 0 I\n#Dx: 164889003\u2028,426783006\n"
    )
    prepared = diagnoses(read_header(tmp_path / "a.hea", tmp_path).comments["dx"])
    assert prepared.codes == ("164889003", "426783006")
