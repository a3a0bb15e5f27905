"""`marecg predict` and `marecg export`, as a user runs them."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from tests.cli.calls import run

import ecg_ontology
from marecg.model.card import Provenance
from marecg.model.mar_ecg import MarEcg


@pytest.mark.parametrize(
    ("command", "where"), [("embed", "nowhere"), ("predict", "nowhere"), ("predict", "empty")]
)
def test_a_model_that_is_not_there_is_one_clear_error(place, capsys, command, where):
    (place / "empty").mkdir(exist_ok=True)
    header = next((place / "wfdb").rglob("*.hea"))
    out = ("--out", place / "y.npz") if command == "embed" else ()
    assert run(command, place / where, header, *out) == 3
    assert str(place / where) in capsys.readouterr().err


def test_a_run_and_the_model_in_it_are_the_same_to_every_command(place, capsys):
    header = sorted((place / "wfdb").rglob("*.hea"))[0]
    said = []
    for given in (place / "run", place / "run" / "model"):
        assert run("predict", given, header, "--format", "json") == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]


def test_a_prediction_takes_an_array_of_one_record(place, capsys):
    np.save(place / "one.npy", np.random.default_rng(0).normal(size=(2500, 2)).astype(np.float32))
    options = ["--fs", "250", "--set", "array.leads=II,V1"]
    assert run("predict", place / "run", place / "one.npy", *options) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_a_table_of_records_is_a_file_by_its_ending_and_names_what_could_not_be_read(place, tmp_path, capsys):
    for name in ("q.csv", "q.parquet"):
        assert run("predict", place / "run", place / "wfdb", "--out", tmp_path / name) == 1
        shown = capsys.readouterr()
        assert shown.out == f"4 records in {tmp_path / name}\n"
        assert "not predicted: " in shown.err
    printed = pd.read_csv(tmp_path / "q.csv").set_index("id")
    written = pd.read_parquet(tmp_path / "q.parquet").set_index("id")
    assert list(printed.columns) == list(written.columns)
    np.testing.assert_allclose(printed["AF"], written["AF"], rtol=1e-5)
    assert (tmp_path / "q.csv").stat().st_mode & 0o007 == 0


@pytest.mark.parametrize(
    ("out", "code", "words"),
    [
        ("q.xlsx", 2, "can't tell a format from"),
        ("file/q.csv", 3, "cannot be written"),
        ("one.csv", 2, "is an input"),
        ("s3://bucket/q.csv", 2, "s3:"),
    ],
)
def test_where_a_table_can_not_go_is_one_line_and_nothing_is_written(
    place, tmp_path, capsys, out, code, words
):
    (tmp_path / "file").write_text("")
    np.savetxt(tmp_path / "one.csv", np.random.default_rng(0).normal(size=(2500, 12)), delimiter=",")
    where = out if "//" in out else tmp_path / out
    options = ["--fs", "250", "--set", "array.leads=I,II,III,aVR,aVL,aVF,V1,V2,V3,V4,V5,V6"]
    assert run("predict", place / "run", tmp_path / "one.csv", "--out", where, *options) == code
    shown = capsys.readouterr()
    assert words in shown.err
    assert shown.err.count("\n") == 1, shown.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "one.csv"]


def test_a_prediction_names_concepts_with_their_neighbours(place, capsys):
    header = sorted((place / "wfdb").rglob("*.hea"))[0]
    assert run("predict", place / "run", header, "--top", "40", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert sum(concept["probability"] for concept in found) == pytest.approx(1, abs=1e-5)
    assert [c["probability"] for c in found] == sorted((c["probability"] for c in found), reverse=True)
    onto = ecg_ontology.load()
    for concept in found:
        near = [neighbour["index"] for neighbour in concept["neighbours"]]
        assert sorted(near) == np.flatnonzero(onto.adjacency[concept["index"]]).tolist()
        shares = [neighbour["probability"] for neighbour in concept["neighbours"]]
        assert shares == sorted(shares, reverse=True)
    by_name = {concept["abbr"]: concept for concept in found}
    assert set(by_name["AntMI"]) == {
        "index", "abbr", "label", "probability", "neighbours", "support"
    }  # fmt: skip
    beside = {each["abbr"]: each for each in by_name["AntMI"]["neighbours"]}
    assert beside["AMI"] == {
        "index": onto.node("AMI").index,
        "abbr": "AMI",
        "label": "Acute myocardial infarction",
        "relation": "subtype of",
        "probability": by_name["AMI"]["probability"],
    }
    assert {name: each["relation"] for name, each in beside.items()} == {
        "AMI": "subtype of", "OMI": "subtype of", "InfMI": "sibling", "Ischemic": "family"
    }  # fmt: skip
    towards = {each["abbr"]: each["relation"] for each in by_name["AMI"]["neighbours"]}
    assert (towards["AntMI"], towards["Ischemic"]) == ("subtype", "family")


def test_a_prediction_is_a_line_per_concept_with_its_share_its_name_and_what_is_beside_it(place, capsys):
    header = sorted((place / "wfdb").rglob("*.hea"))[0]
    assert run("predict", place / "run", header, "--top", "40") == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert len(lines) == 40
    (anterior,) = [line for line in lines if "Anterior MI (AntMI)" in line]
    assert re.match(r" +\d+\.\d%  Anterior MI \(AntMI\) +(\w[\w ]* \d+\.\d%( · )?){4}$", anterior)
    (rhythm,) = [line for line in lines if re.search("%  Rhythm ", line)]
    assert rhythm.endswith(" · 7 more")
    assert "aren't a diagnosis" in shown.err


def test_a_concept_that_no_record_of_the_training_bore_is_named_as_such(place, capsys):
    model = MarEcg.from_pretrained(place / "run")
    model.provenance = Provenance(
        recipe="micro", steps=1, records=9, sources={}, support={"AF": 0, "AFL": 3, "NSR": 6}
    )
    model.save_pretrained(place / "known" / "model")
    header = sorted((place / "wfdb").rglob("*.hea"))[0]
    assert run("predict", place / "known", header, "--top", "40") == 0
    lines = capsys.readouterr().out.splitlines()
    marked = [line for line in lines if line.endswith("(no record of it in the training)")]
    assert len(marked) == 1
    assert "(AF) " in marked[0]


def test_a_prediction_of_a_bad_record_is_one_line_and_of_wrong_units_has_a_warning(place, capsys, caplog):
    x = np.random.default_rng(0).normal(scale=300, size=(12, 2500)).astype(np.float32)
    np.save(place / "micro.npy", x)
    assert run("predict", place / "run", place / "micro.npy", "--fs", "250") == 0
    assert "microvolts" in caplog.text
    x[3, 7] = np.nan
    np.save(place / "hole.npy", x)
    capsys.readouterr()
    assert run("predict", place / "run", place / "hole.npy", "--fs", "250") == 3
    assert capsys.readouterr().err.startswith(f"error: {place / 'hole.npy'}: signals hold NaN")


def test_a_run_without_gscl_predicts_nothing(place, capsys):
    assert run("predict", place / "mute", sorted((place / "wfdb").rglob("*.hea"))[0]) == 2
    assert "without GSCL" in capsys.readouterr().err


def test_an_export_prints_its_parity_and_another_ending_is_refused(place, capsys):
    out = place / "encoder.pt2"
    assert run("export", place / "run", "--to", "torch", "--out", out) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{out}: ")
    assert "(≤ 0.0001)" in shown
    assert run("export", place / "run", "--to", "torch", "--out", place / "encoder.onnx") == 2
    assert "Change the file's ending" in capsys.readouterr().err
