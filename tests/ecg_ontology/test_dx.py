"""The #Dx comment."""

import csv

import pytest

from ecg_ontology import CPSC_LABELS, diagnoses, read_corpus
from marecg.read.wfdb_header import read_header

MALFORMED = ("sinus", "12", "0164889003", "164889003x", "1" * 19, "164889003;59118001")


@pytest.mark.parametrize(
    ("text", "codes", "note"),
    [
        ("59118001, 164889003", ("59118001", "164889003"), ""),
        ("427084000,,427172004", ("427084000", "427172004"), "an empty code"),
        ("  ", (), "no diagnosis"),
        ("", (), "no diagnosis"),
        ("251238007", ("251238007",), ""),  # outside of the map: for the ontology to judge
        ("AF,RBBB", ("164889003", "59118001"), "label 'AF' read as 164889003"),
        ("251146004,284470004,284470004", ("251146004", "284470004"), "code 284470004 given twice"),
        ("59118001,RBBB", ("59118001",), "code 59118001 given twice"),
        *((f"{token},426783006", ("426783006",), f"malformed code {token!r}") for token in MALFORMED),
    ],
)
def test_codes_are_read_in_order_and_once_and_what_is_read_otherwise_is_noted(text, codes, note):
    diagnosis = diagnoses(text)
    assert diagnosis.codes == codes
    assert " ".join(diagnosis.notes[:1]).startswith(note)
    assert bool(diagnosis.notes) == bool(note)


@pytest.mark.realdata
def test_every_cpsc_label_stands_for_a_code_that_the_official_map_counts_in_cpsc(realdata):
    with (realdata / "meta" / "dx_map.csv").open(newline="") as file:
        in_cpsc = {row["code"]: int(row["CPSC"]) for row in csv.DictReader(file)}
    assert all(in_cpsc[code] > 0 for code in CPSC_LABELS.values())


@pytest.mark.parametrize(
    "comment",
    [
        *("#Dx: 164889003,STE", "# Dx : 164889003,,STE", "  #dx:STE, 164889003"),
        *("#Dx: 164889003,STE,164889003", "#Dx: 164889003\u2028,STE"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028\n"])
def test_coverage_counts_what_a_preparation_reads(tmp_path, comment, end):
    """Only a line feed or a return ends a line of a header, and its first comment counts."""
    lines = ["a 1 500 10", "a.dat 16 200/mV 16 0 0 0 0 I", comment, "#Dx: 1234567", ""]
    (tmp_path / "a.hea").write_bytes(end.join(lines).encode())
    prepared = diagnoses(read_header(tmp_path / "a.hea", tmp_path).comments["dx"])
    assert set(prepared.codes) == {"164889003", "164931005"}
    [counted] = read_corpus(tmp_path).records or ()
    assert set(counted) == set(prepared.codes)
