"""From a folder of everything that a hospital has to a cohort: every step as a user types it."""

import csv
import json
import os
import signal
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests import forked
from tests.cli.calls import run
from tests.forked import command as start
from tests.fuzz.commands import SETTINGS
from tests.marecg import clinical_files as files
from tests.marecg.made_records import make_ecg, make_record
from tests.marecg.own_graphs import LEFT_AXIS, cardiac_with_an_axis

import marecg.corpus.prepare  # what the killed process needs, loaded once
import marecg.train.run
import marecg.use.embed_records  # noqa: F401
from marecg.model.mar_ecg import MarEcg

pytest.importorskip("pydicom")
AF = "164889003"
EACH, ROWS = 2, 4
WRITTEN = ("dicom", "aecg", "muse", "edf", "scp", "philips")
KINDS = sorted(WRITTEN)
NAMES = [
    *(f"archive/{kind}/{number}" for kind in (*KINDS, "wfdb") for number in range(EACH)),
    *(f"archive/arrays/clinic/{row}" for row in range(ROWS)),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """An archive of eight kinds of file, a code for every record, and a graph of 41 concepts."""
    folder = tmp_path_factory.mktemp("hospital")
    archive = folder / "archive"
    for kind, (name, write) in zip(WRITTEN, files.FILES.items(), strict=True):
        (archive / kind).mkdir(parents=True)
        for number in range(EACH):
            write(archive / kind / f"{number}{Path(name).suffix}", make_ecg(seed=len(kind) + number) + 0.2)
    for number in range(EACH):
        make_record(archive / "wfdb", str(number), make_ecg(seed=number), comments=["Dx: Unknown"])
    (archive / "arrays").mkdir()
    np.save(archive / "arrays" / "clinic.npy", np.stack([make_ecg(seed=20 + row) for row in range(ROWS)]))
    with (folder / "codes.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["ecg", "dx"])
        table.writerows((name, LEFT_AXIS if row % 2 else AF) for row, name in enumerate(NAMES))
    cardiac_with_an_axis(folder / "graph")
    return folder


def test_an_archive_of_many_formats_becomes_a_cohort(place, capsys, monkeypatch):
    table = ("--codes", place / "codes.csv", "--set", "codes.id_column=ecg", "--set", "codes.code_column=dx")
    prepared = ("prepare", place / "archive", "--fs", 500, *table, "--ontology", place / "graph", "--jobs", 1)
    assert run(*prepared, "--out", place / "corpus", "--format", "json") == 0
    account = json.loads(capsys.readouterr().out)
    assert (account["kept"], account["quarantined"]) == (len(NAMES), {})
    assert account["codes"]["records_with_codes"] == len(NAMES)
    assert not account["codes"]["records_without_row"] + account["codes"]["ids_without_record"]

    settings = [f"--set={each}" for each in (*SETTINGS, "train.max_steps=2")]
    assert (
        run("train", "--recipe", "tiny", "--data", place / "corpus", "--out", place / "run", *settings) == 0
    )
    model = MarEcg.from_pretrained(place / "run")
    assert (len(model.prototypes), model.ontology.nodes[40].abbr) == (41, "LAxis")

    command = ("embed", place / "run", place / "archive", "--fs", 500, "--set", "part_records=2")
    first = ("--out", f"{place}/parts/", "--shard", "1/2")
    rename = Path.replace

    def killed_at_the_second(self, target):
        if target.match("part-*") and any(target.parent.glob("part-*")):
            os.kill(os.getpid(), signal.SIGKILL)
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killed_at_the_second)
        killed = start([str(each) for each in (*command, *first)], os.devnull)
    assert forked.end(killed) == -signal.SIGKILL
    assert [path.name for path in (place / "parts").glob("part-*")] == ["part-00000.parquet"]
    assert run(*command, "--out", f"{place}/parts/", "--shard", "2/2") == 0
    assert run(*command, *first) == 0
    assert run(*command, "--out", f"{place}/whole/") == 0
    left = {path.name: path.read_bytes() for path in (place / "whole").iterdir()}
    assert {path.name: path.read_bytes() for path in (place / "parts").iterdir()} == left

    rows = pq.read_table(place / "parts").to_pylist()
    assert sorted(row["id"] for row in rows) == sorted(NAMES)
    assert {row["ontology_sha256"] for row in rows} == {model.ontology.sha256}

    capsys.readouterr()
    assert run("cohort", place / "corpus", "--where", "LAxis and not AF", "--format", "json") == 0
    found = {row["name"] for row in json.loads(capsys.readouterr().out)}
    assert found == set(NAMES[1::2])
    assert found <= {row["id"] for row in rows}

    assert run("neighbours", place / "parts", "muse/1", "--top", 3) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
