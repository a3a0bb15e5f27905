"""`marecg predict` and `marecg export`, as a user runs them."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.calls import invoke, run

import ecg_ontology
from marecg.model.card import Provenance
from marecg.model.mar_ecg import MarEcg


def test_a_run_and_the_model_in_it_are_the_same_to_every_command(place, header):
    command = ("predict", header, "--format", "json")
    once, again = (invoke(command[0], place / each, *command[1:]) for each in ("run", "run/model"))
    assert once == again
    assert once[0] == 0


def test_a_prediction_takes_an_array_of_one_record(place):
    np.save(place / "some.npy", np.random.default_rng(0).normal(size=(2500, 2)).astype(np.float32))
    options = ["--fs", "250", "--set", "array.leads=II,V1"]
    code, out, _ = invoke("predict", place / "run", place / "some.npy", *options)
    assert (code, len(out.splitlines())) == (0, 5)


def test_a_table_of_records_is_a_file_by_its_ending_and_names_what_could_not_be_read(place, tmp_path):
    for name in ("q.csv", "q.parquet"):
        code, out, err = invoke("predict", place / "run", place / "wfdb", "--out", tmp_path / name)
        assert (code, out) == (1, f"4 records in {tmp_path / name}\n")
        assert "not predicted: " in err
    printed = pd.read_csv(tmp_path / "q.csv").set_index("id")
    written = pd.read_parquet(tmp_path / "q.parquet").set_index("id")
    assert list(printed.columns) == list(written.columns)
    np.testing.assert_allclose(printed["AF"], written["AF"], rtol=1e-5)
    assert (tmp_path / "q.csv").stat().st_mode & 0o007 == 0


def test_a_prediction_names_concepts_with_their_neighbours(place, header):
    def shares(concepts):
        return [concept["probability"] for concept in concepts]

    concepts = json.loads(invoke("predict", place / "run", header, "--top", "40", "--format", "json")[1])
    assert sum(shares(concepts)) == pytest.approx(1, abs=1e-5)
    assert shares(concepts) == sorted(shares(concepts), reverse=True)
    onto = ecg_ontology.load()
    for concept in concepts:
        near = concept["neighbours"]
        assert {each["index"] for each in near} == set(np.flatnonzero(onto.adjacency[concept["index"]]))
        assert shares(near) == sorted(shares(near), reverse=True)
    by_name = {concept["abbr"]: concept for concept in concepts}
    ami, anterior = by_name["AMI"], by_name["AntMI"]
    assert set(anterior) == {"index", "abbr", "label", "probability", "neighbours", "support", "by_family"}
    beside = {each["abbr"]: each for each in anterior["neighbours"]}
    about = {name: ami[name] for name in ("index", "abbr", "label", "probability")}
    assert beside["AMI"] == about | {"relation": "subtype of"}
    relations = {name: each["relation"] for name, each in beside.items()}
    assert relations == {"AMI": "subtype of", "OMI": "subtype of", "InfMI": "sibling", "Ischemic": "family"}
    towards = {each["abbr"]: each["relation"] for each in ami["neighbours"]}
    assert (towards["AntMI"], towards["Ischemic"]) == ("subtype", "family")


def test_a_prediction_is_a_line_per_concept_with_its_share_its_name_and_what_is_beside_it(place, header):
    code, out, err = invoke("predict", place / "run", header, "--top", "40")
    lines = out.splitlines()
    assert (code, len(lines)) == (0, 40)
    (anterior,) = [line for line in lines if "Anterior MI (AntMI)" in line]
    assert re.match(r" +\d+\.\d%  Anterior MI \(AntMI\) +(\w[\w ]* \d+\.\d%( · )?){4}$", anterior)
    (rhythm,) = [line for line in lines if re.search("%  Rhythm ", line)]
    assert rhythm.endswith(" · 7 more")
    assert "aren't a diagnosis" in err


@pytest.fixture
def counted(place) -> Path:
    """The same run, which says that no record of its training bore AF."""
    model = MarEcg.from_pretrained(place / "run")
    support = {"AF": 0, "AFL": 3, "NSR": 6}
    model.provenance = Provenance(recipe="micro", steps=1, records=9, sources={}, support=support)
    model.save_pretrained(place / "known" / "model")
    return place / "known"


def test_a_concept_that_no_record_of_the_training_bore_has_its_familys_share(counted, header):
    concepts = json.loads(invoke("predict", counted, header, "--top", "40", "--format", "json")[1])
    onto = ecg_ontology.load()
    rhythm = onto.families[onto.node("AF").index]
    of_family = sum(each["probability"] for each in concepts if onto.families[each["index"]] == rhythm)
    shares = {each["abbr"]: each["by_family"] for each in concepts}
    assert shares.pop("AF") == pytest.approx(of_family, abs=1e-6)
    assert set(shares.values()) == {None}
    _, out, _ = invoke("predict", counted, header, "--top", "40")
    [marked] = [line for line in out.splitlines() if "no record of it in the training" in line]
    assert "(AF) " in marked
    assert marked.endswith(f"by family {of_family:.1%})")


def test_such_a_concept_is_named_below_the_nearest_ones_and_has_a_column_in_a_table(counted, header, place):
    _, out, _ = invoke("predict", counted, header, "--top", "1", "--format", "json")
    assert [each["abbr"] for each in json.loads(out)][1:] in ([], ["AF"])
    assert run("predict", counted, header, "--out", place / "shares.csv") == 0
    table = pd.read_csv(place / "shares.csv")
    onto = ecg_ontology.load()
    rhythm = [node.abbr for node in onto.nodes if onto.families[node.index] == 1]
    assert table.columns[-1] == "AF by family"
    assert table["AF by family"][0] == pytest.approx(table[rhythm].sum(axis=1)[0], abs=1e-5)


def test_a_prediction_of_steps_is_a_line_for_each_with_its_time(place, header):
    code, out, _ = invoke("predict", place / "run", header, "--every", "5s", "--top", 2)
    lines = [line.split() for line in out.splitlines()]
    assert (code, [line[0] for line in lines]) == (0, ["0:00:00", "0:00:05"])
    assert all(line[2].endswith("%") for line in lines)


def test_a_prediction_of_wrong_units_has_a_warning(place, caplog):
    x = np.random.default_rng(0).normal(scale=300, size=(12, 2500)).astype(np.float32)
    np.save(place / "micro.npy", x)
    assert run("predict", place / "run", place / "micro.npy", "--fs", "250") == 0
    assert "microvolts" in caplog.text


def test_an_export_prints_its_parity(place):
    out = place / "encoder.pt2"
    code, shown, _ = invoke("export", place / "run", "--to", "torch", "--out", out)
    assert code == 0
    assert shown.startswith(f"{out}: ")
    assert "(≤ 0.0001)" in shown
