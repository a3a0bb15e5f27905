"""The #Dx comment."""

import csv
import os

import pytest

from ecg_base import InputError
from ecg_records.dx import CPSC_LABELS, codes_in_headers, diagnoses
from ecg_records.readers.wfdb_header import read_header

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
def test_the_codes_of_a_header_alone_are_what_a_preparation_reads(tmp_path, comment, end):
    """Only a line feed or a return ends a line of a header, and its first comment counts."""
    lines = ["a 1 500 10", "a.dat 16 200/mV 16 0 0 0 0 I", comment, "#Dx: 1234567", ""]
    (tmp_path / "a.hea").write_bytes(end.join(lines).encode())
    prepared = diagnoses(read_header(tmp_path / "a.hea", tmp_path).comments["dx"])
    assert set(prepared.codes) == {"164889003", "164931005"}
    [counted] = codes_in_headers(tmp_path)
    assert set(counted) == set(prepared.codes)


HEADERS = {
    "a/a.hea": "a 12 500 5000\n#Age: 60\n#Dx: 164889003,426783006\n",
    "b.hea": "b 12 500 5000\r\n# Dx: 427084000,,427172004\r\n",
    "c.hea": "c 12 500 5000\n#Dx: \n#Rx: Unknown\n",
    "d.hea": "d 12 500 5000\n#Dx: STE,I-AVB,unheard of\n",
    "e.hea/e.hea": "e 12 500 5000\n#Dx: Normal,164889003,426783006,164889003\n",
}


def test_headers_give_their_codes_in_order_and_what_else_stands_there(tmp_path):
    for name, text in HEADERS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    af, sinus = "164889003", "426783006"
    others = (("427084000", "427172004"), (), ("164931005", "270492004", "unheard of"), (sinus, af))
    assert codes_in_headers(tmp_path) == ((af, sinus), *others)


@pytest.mark.realdata
def test_real_headers_are_read_with_all_their_oddities(realdata):
    records = codes_in_headers(realdata / "cinc2021")
    assert len(records) == 236
    assert all(code.isdecimal() for codes in records for code in codes)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (os.mkfifo, r"a\.hea: isn't a file"),
        (lambda path: path.symlink_to("nowhere"), r"a\.hea: isn't a file"),
        (lambda path: path.with_name("readme.txt").touch(), "contains no WFDB header"),
    ],
)
def test_a_folder_without_headers_and_a_header_that_is_no_file_are_refused(tmp_path, make, says):
    make(tmp_path / "a.hea")
    with pytest.raises(InputError, match=says):
        codes_in_headers(tmp_path)
