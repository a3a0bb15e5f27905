"""Codes for any source, by a table of the user's: laid beside the records, nothing lost on either side."""

import json
from pathlib import Path
from typing import Literal
from unicodedata import normalize

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.made_records import make_ecg, make_record

from ecg_ontology import CodeTable, read_code_table
from ecg_records.readers.arrays.array_layout import Layout
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.errors import CorpusError
from marecg.train.run import train

Form = Literal["NFC", "NFD"]
AF, SINUS, NOTHING = "164889003", "426783006", "38341003"


@pytest.fixture
def clinic(tmp_path) -> Path:
    """An array of three records and a WFDB record with a code of its own."""
    folder = tmp_path / "clinic"
    folder.mkdir()
    np.save(folder / "a.npy", np.stack([make_ecg(seed=seed) for seed in range(3)]).astype(np.float32))
    make_record(folder, "w", make_ecg(seed=9))
    return folder


def table(folder: Path, *rows: str) -> CodeTable:
    path = folder / "codes.csv"
    path.write_text("\n".join(["id,code,patient", *rows, ""]), encoding="utf-8")
    return read_code_table(path, patient_column="patient")


def rows_of(out: Path) -> dict[str, dict[str, object]]:
    return {row["id"]: row for row in pq.read_table(out / "index.parquet").to_pylist()}


def test_arrays_get_codes_and_patients_and_what_is_left_over_is_named(clinic, tmp_path):
    codes = table(tmp_path, f"a/0,{AF},p1", f"a/0,{NOTHING},p1", "a/1,,p2", f"gone,{AF},p3", f"w,{AF},")
    report = prepare([clinic], tmp_path / "out", jobs=1, layout=Layout(500), codes=codes)
    assert report.as_json()["codes"] == {
        "records_with_codes": 2,
        "records_without_row": ["clinic/a.npy#2"],
        "ids_without_record": ["gone"],
        "reaching_nothing": [{"code": NOTHING, "status": "unknown", "records": 1}],
    }
    assert json.loads((tmp_path / "out" / "report.json").read_text())["codes"] == report.as_json()["codes"]
    rows = rows_of(tmp_path / "out")
    assert (rows["a/0"]["codes"], rows["a/0"]["patient"]) == ([AF, NOTHING], "p1")
    assert "no diagnosis" not in rows["a/0"]["notes"]
    assert (rows["a/1"]["codes"], rows["a/1"]["notes"][0]) == ([], "no diagnosis")
    assert rows["w"]["codes"] == [AF], "the table takes the place of the header"
    corpus = Corpus.open(tmp_path / "out")
    leaf = next(node.index for node in corpus.ontology().nodes if node.abbr == "AF")
    assert corpus.y[:, leaf].tolist() == [1, 0, 0, 1]


def test_another_table_is_another_corpus(clinic, tmp_path):
    prepare([clinic], tmp_path / "out", jobs=1, codes=table(tmp_path, f"w,{AF},"))
    prepare([clinic], tmp_path / "out", jobs=1, codes=table(tmp_path, f"w,{AF},"))
    with pytest.raises(CorpusError, match="other records and code table"):
        prepare([clinic], tmp_path / "out", jobs=1, codes=table(tmp_path, f"w,{SINUS},"))
    with pytest.raises(CorpusError, match="code table"):
        prepare([clinic], tmp_path / "out", jobs=1)


@pytest.mark.parametrize(
    ("source", "name", "record"),
    [("a.npy", "2", "a/2"), *(("", name, "w") for name in ("clinic/w.hea", "w.hea", "w"))],
)
def test_a_record_goes_by_its_path_its_name_or_its_row_in_a_file(clinic, tmp_path, source, name, record):
    codes = table(tmp_path, f"{name},{AF},")
    prepare([clinic / source], tmp_path / "out", jobs=1, layout=Layout(500), codes=codes)
    assert rows_of(tmp_path / "out")[record]["codes"] == [AF]


@pytest.mark.parametrize(("on_disk", "in_table"), [("NFD", "NFC"), ("NFC", "NFD")])
def test_a_record_is_known_however_its_umlaut_is_spelt(tmp_path, on_disk, in_table):
    (tmp_path / "clinic").mkdir()
    np.save(tmp_path / "clinic" / f"{normalize(on_disk, 'Größe')}.npy", make_ecg(seed=0).astype(np.float32))
    codes = table(tmp_path, f"{normalize(in_table, 'Größe')},{AF},p1")
    report = prepare([tmp_path / "clinic"], tmp_path / "out", jobs=1, layout=Layout(500), codes=codes)
    assert report.as_json()["codes"]["records_with_codes"] == 1


def test_a_name_that_fits_two_records_is_refused_and_a_path_is_not(clinic, tmp_path):
    make_record(clinic / "later", "w", make_ecg(seed=4))
    with pytest.raises(CorpusError, match="w must be the id of a single record, got 2 records"):
        prepare([clinic], tmp_path / "out", jobs=1, codes=table(tmp_path, f"w,{AF},"))
    codes = table(tmp_path, f"later/w,{AF},", f"clinic/later/w.hea,{SINUS},")
    with pytest.raises(CorpusError, match="must have a single id, got later/w and clinic/later/w"):
        prepare([clinic], tmp_path / "out", jobs=1, codes=codes)
    report = prepare([clinic], tmp_path / "out", jobs=1, codes=table(tmp_path, f"later/w.hea,{AF},"))
    assert report.codes is not None
    assert report.codes.records_without_row == ("clinic/w.hea",)


def test_a_table_of_another_archive_is_refused(clinic, tmp_path):
    with pytest.raises(CorpusError, match="must have ids of records that were found, got x"):
        prepare([clinic], tmp_path / "out", jobs=1, codes=table(tmp_path, f"x,{AF},"))
    assert not (tmp_path / "out").exists()


def test_a_table_among_the_arrays_is_no_array(clinic, tmp_path):
    pq.write_table(pa.table({"id": ["a/0"], "code": [AF]}), clinic / "codes.parquet")
    codes = read_code_table(clinic / "codes.parquet")
    report = prepare([clinic], tmp_path / "out", jobs=1, layout=Layout(500), codes=codes)
    assert (report.found, report.quarantined) == (4, {})


def test_arrays_with_a_table_train_with_gscl(clinic, tmp_path, micro):
    codes = table(tmp_path, *(f"a/{row},{code},p{row}" for row, code in enumerate((AF, SINUS, AF))))
    prepare([clinic / "a.npy"], tmp_path / "out", jobs=1, layout=Layout(500), codes=codes)
    train(micro, tmp_path / "out", tmp_path / "run")
    gscl = pd.read_csv(tmp_path / "run" / "metrics.csv")["gscl"]
    assert len(gscl) == micro.train.max_steps
    assert np.isfinite(gscl).all()
    assert gscl.min() > 0, "records of arrays are supervised"
