"""`marecg embed`, as a user runs it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import wfdb
from tests.cli.calls import invoke, run
from tests.made_records import make_ecg, make_record

from ecg_synth import write_corpus
from marecg.embedding.embed import embed
from marecg.embedding.embedding_files import RECORD_FIELDS
from marecg.model.mar_ecg import MarEcg


def test_a_folder_is_embedded_record_by_record_and_what_failed_is_named_also_to_machines(place):
    command = ("embed", place / "run", place / "wfdb", "--out", place / "folder.npz")
    code, out, err = invoke(*command)
    assert (code, "4 records" in out, err.count("not embedded: ")) == (1, True, 1)
    with np.load(place / "folder.npz") as file:
        assert file["rhythm"].shape == (4, 16)
        assert len(set(file["id"])) == len(file["record"]) == 4
        assert np.isfinite(file["rhythm"]).all()
    summary = json.loads(invoke(*command, "--format", "json")[1])
    assert (summary["out"], summary["records"], len(summary["failed"])) == (str(command[-1]), 4, 1)


def test_a_record_that_is_named_twice_is_embedded_once(place, header):
    names = [header, header.with_suffix(".mat"), header.with_suffix("")]
    assert run("embed", place / "run", *names, "--out", place / "once.npz") == 0
    with np.load(place / "once.npz") as file:
        assert file["id"].tolist() == [header.stem]


def test_an_array_and_a_record_land_in_one_parquet_file(place, header):
    np.save(place / "some.npy", np.random.default_rng(0).normal(size=(2, 3, 2500)).astype(np.float32))
    out = place / "both.parquet"
    array = (place / "some.npy", "--fs", 250, "--set", "array.leads=I,II,V2")
    assert run("embed", place / "run", header, *array, "--out", out) == 0
    table = pq.read_table(out)
    assert table["id"].to_pylist()[1:] == ["some/0", "some/1"]
    assert np.stack(table["rhythm"].to_pylist()).shape == (3, 16)


def columns(path: Path) -> dict[str, Any]:
    """What either kind of file holds, each record's patches apart."""
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pydict()
    with np.load(path) as file:
        arrays = dict(file)
    return arrays | {"patch": np.split(arrays["patch"], np.cumsum(arrays.pop("patches"))[:-1])}


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_patches_and_the_wide_readout_stand_beside_h_rhythm_record_by_record(place, ending):
    given, out = [place / "long.npy", place / "short.npy"], place / f"all.{ending}"
    for seed, (path, shape) in enumerate(zip(given, ((2, 12, 5000), (1, 12, 1000)), strict=True)):
        np.save(path, np.random.default_rng(seed).normal(size=shape).astype(np.float32))
    options = ("--fs", 500, "--patch", "--readout", "wide", "--out", out)
    assert run("embed", place / "run", *given, *options) == 0
    embedded = columns(out)
    about = ["id", "record", "source", "start"] if ending == "npz" else RECORD_FIELDS.names
    assert sorted(embedded) == sorted([*about, "rhythm", "wide", "patch"])
    model = MarEcg.from_pretrained(place / "run")
    expected = [embed(model, np.load(path), fs=500, readout="wide") for path in given]
    for name in ("rhythm", "wide"):
        whole = np.concatenate([getattr(each, name) for each in expected])
        np.testing.assert_allclose(np.array(embedded[name]), whole, atol=1e-5)
    for patch, other in zip(embedded["patch"], [*expected[0].patch, *expected[1].patch], strict=True):
        np.testing.assert_allclose(np.array(patch), other, atol=1e-5)


def test_a_wfdb_record_of_two_leads_is_embedded_with_those(place, header):
    x = wfdb.rdrecord(str(header.with_suffix(""))).p_signal[:, [1, 6]]
    (place / "two").mkdir(exist_ok=True)
    wfdb.wrsamp("two", 500, ["mV", "mV"], ["II", "V1"], x, fmt=["16", "16"], write_dir=str(place / "two"))
    for number, given in enumerate([place / "two", place / "two" / "two"]):
        out = place / f"two{number}.npz"
        assert run("embed", place / "run", given, "--out", out) == 0
        again = wfdb.rdrecord(str(place / "two" / "two")).p_signal.T[None]
        model = MarEcg.from_pretrained(place / "run")
        with np.load(out) as file:
            expected = embed(model, again, fs=500, leads=["II", "V1"]).rhythm
            np.testing.assert_allclose(file["rhythm"], expected, atol=1e-4)


def test_signals_of_other_names_are_predicted_and_embedded_as_the_leads_named(place, tmp_path):
    x_KL = make_ecg()[[1, 10]]
    other = make_record(tmp_path / "other", x_CL=x_KL, leads=("MLII", "CM5"))
    usual = make_record(tmp_path / "usual", x_CL=x_KL, leads=("II", "V5"))
    words, named = ("predict", place / "run"), ("--leads", "MLII=II,CM5=V5")
    assert invoke(*words, other)[0] == 3
    code, text, error = invoke(*words, other, *named)
    assert (code, text) == (0, invoke(*words, usual)[1])
    assert "MLII as II, CM5 as V5" in error
    vectors = []
    for record, options in ((other, (*named, "--jobs", 2)), (usual, ())):
        out = tmp_path / f"{record.parent.name}.npz"
        assert run("embed", place / "run", record, "--out", out, *options) == 0
        with np.load(out) as file:
            vectors.append(file["rhythm"])
    np.testing.assert_array_equal(*vectors)


def test_a_bad_row_of_an_array_is_named_and_the_others_are_embedded(place):
    x = np.random.default_rng(0).normal(size=(3, 12, 2500)).astype(np.float32)
    x[1] = np.nan
    np.save(place / "holes.npy", x)
    arguments = (place / "holes.npy", "--fs", 250, "--out", place / "holes.npz")
    code, _, err = invoke("embed", place / "run", *arguments)
    assert (code, "holes.npy#1: no lead is usable" in err) == (1, True)
    with np.load(place / "holes.npz") as file:
        assert file["id"].tolist() == ["holes/0", "holes/2"]


def test_units_that_are_no_millivolts_are_embedded_and_doubted_in_a_line(place, capsys):
    x = np.random.default_rng(0).normal(scale=300, size=(9, 12, 2500))
    one, two = x[:, 0].copy(), x[:, 1].copy()
    x[:, 2:6] = np.stack([two - one, -(one + two) / 2, one - two / 2, two - one / 2], axis=1)
    x = x.astype(np.int16)
    np.save(place / "adc.npy", x)
    arguments = (place / "adc.npy", "--fs", 250, "--out", place / "adc.npz")
    assert run("embed", place / "run", *arguments) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("check")]
    assert (len(lines), "microvolts" in lines[0], "4 more" in lines[-1]) == (6, True, True)
    assert run("embed", place / "run", *arguments, "--set", "array.units=uV") == 0
    assert "check" not in capsys.readouterr().err


def test_of_many_records_that_can_not_be_read_five_are_named_and_the_others_counted(place, tmp_path, capsys):
    write_corpus(tmp_path / "wfdb", 8, 0)
    for path in sorted((tmp_path / "wfdb").rglob("*.mat"))[1:]:
        path.unlink()
    assert run("embed", place / "run", tmp_path / "wfdb", "--out", tmp_path / "e.npz") == 1
    lines = [line for line in capsys.readouterr().err.splitlines() if "not embedded: " in line]
    assert (len(lines), lines[5]) == (6, "not embedded: 2 more (--format json lists all)")


def test_a_folder_is_continued_and_tells_what_failed(place, tmp_path, capsys):
    out = tmp_path / "parts"
    command = ("embed", place / "run", place / "wfdb", "--out", f"{out}/", "--set", "part_records=2")
    assert run(*command, "--format", "json") == 1
    assert capsys.readouterr().err.count("not embedded: ") == 1
    assert pq.read_table(out).num_rows == 4
    (out / "part-00000.parquet").unlink()
    assert run(*command) == 1
    assert f"4 records in {out}/" in capsys.readouterr().out
