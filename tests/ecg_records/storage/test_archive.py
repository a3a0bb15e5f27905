"""From a folder of everything that a hospital has to a cohort: every step as a user types it."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.cli.calls import run
from tests.ecg_records import clinical_files as files
from tests.fuzz.commands import SETTINGS
from tests.made_records import make_ecg, make_record
from tests.marecg.own_graphs import LEFT_AXIS, cardiac_with_an_axis

from marecg.model.mar_ecg import MarEcg

pytest.importorskip("pydicom")
AF = "164889003"
KINDS = ("dicom", "aecg", "muse", "edf", "scp", "philips")
NAMES = [
    *(f"archive/{kind}/{number}" for kind in (*sorted(KINDS), "wfdb") for number in range(2)),
    *(f"archive/arrays/clinic/{row}" for row in range(4)),
]


@pytest.fixture
def place(tmp_path) -> Path:
    """An archive of eight kinds of file, a code for every record, and a graph of 41 concepts."""
    archive = tmp_path / "archive"
    for kind, (name, write) in zip(KINDS, files.FILES.items(), strict=True):
        (archive / kind).mkdir(parents=True)
        for number in range(2):
            write(archive / kind / f"{number}{Path(name).suffix}", make_ecg(seed=len(kind) + number) + 0.2)
    for number in range(2):
        make_record(archive / "wfdb", str(number), make_ecg(seed=number), comments=["Dx: Unknown"])
    (archive / "arrays").mkdir()
    np.save(archive / "arrays" / "clinic.npy", np.stack([make_ecg(seed=20 + row) for row in range(4)]))
    with (tmp_path / "codes.csv").open("w", newline="") as file:
        rows = ((name, LEFT_AXIS if row % 2 else AF) for row, name in enumerate(NAMES))
        csv.writer(file).writerows([("ecg", "dx"), *rows])
    cardiac_with_an_axis(tmp_path / "graph")
    return tmp_path


def test_an_archive_of_many_formats_becomes_a_cohort(place, capsys):
    table = ("--codes", place / "codes.csv", "--set", "codes.id_column=ecg", "--set", "codes.code_column=dx")
    prepared = ("prepare", place / "archive", "--fs", 500, *table, "--ontology", place / "graph", "--jobs", 1)
    assert run(*prepared, "--out", place / "corpus", "--format", "json") == 0
    account = json.loads(capsys.readouterr().out)
    assert (account["kept"], account["quarantined"]) == (len(NAMES), {})
    assert account["codes"]["records_with_codes"] == len(NAMES)
    assert not account["codes"]["records_without_row"] + account["codes"]["ids_without_record"]

    settings = [f"--set={each}" for each in (*SETTINGS, "train.max_steps=2")]
    trained = ("train", "--recipe", "tiny", "--data", place / "corpus", "--out", place / "run")
    assert run(*trained, *settings) == 0
    ontology = MarEcg.from_pretrained(place / "run").ontology
    assert (len(ontology), ontology.nodes[40].abbr) == (41, "LAxis")

    embedded = ("embed", place / "run", place / "archive", "--fs", 500, "--set", "part_records=2")
    assert run(*embedded, "--out", f"{place}/parts/") == 0
    rows = pq.read_table(place / "parts").to_pylist()
    assert sorted(row["id"] for row in rows) == sorted(NAMES)
    assert {row["ontology_sha256"] for row in rows} == {ontology.sha256}

    capsys.readouterr()
    assert run("cohort", place / "corpus", "--where", "LAxis and not AF", "--format", "json") == 0
    assert {row["name"] for row in json.loads(capsys.readouterr().out)} == set(NAMES[1::2])
