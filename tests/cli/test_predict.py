"""`marecg predict` and `marecg export`, as a user runs them."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.calls import invoke, run

import ecg_ontology
from marecg.classify.calibration import Calibration
from marecg.model.card import Provenance
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import weights_sha256
from marecg.use.answers import ANSWERS, Answers


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
        return [concept["share"] for concept in concepts]

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
    about = {"index", "abbr", "label", "share", "neighbours"}
    assert set(anterior) == about | {"support", "by_family", "answer"}
    beside = {each["abbr"]: each for each in anterior["neighbours"]}
    about = {name: ami[name] for name in ("index", "abbr", "label", "share")}
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
    """The same run, which says that no record of its training bore AF or LBBB."""
    model = MarEcg.from_pretrained(place / "run")
    support = {"AF": 0, "LBBB": 0, "AFL": 3, "NSR": 6}
    model.provenance = Provenance(recipe="micro", steps=1, records=9, sources={}, support=support)
    model.untaught_by_family = ("Conduction", "Ischemic")
    model.save_pretrained(place / "known" / "model")
    return place / "known"


def test_a_block_that_no_record_of_the_training_bore_has_its_familys_share_and_a_rhythm_has_not(
    counted, header
):
    concepts = json.loads(invoke("predict", counted, header, "--top", "40", "--format", "json")[1])
    onto = ecg_ontology.load()
    conduction = onto.families[onto.node("LBBB").index]
    of_family = sum(each["share"] for each in concepts if onto.families[each["index"]] == conduction)
    shares = {each["abbr"]: each["by_family"] for each in concepts}
    assert shares.pop("LBBB") == pytest.approx(of_family, abs=1e-6)
    assert set(shares.values()) == {None}
    _, out, _ = invoke("predict", counted, header, "--top", "40")
    lines = [line for line in out.splitlines() if "no training record had it" in line]
    marked = {line.split("(")[1].split(")")[0]: line for line in lines}
    assert marked["LBBB"].endswith(f"(no training record had it, its family has {of_family:.1%})")
    assert marked["AF"].endswith("(no training record had it)")
    assert set(marked) == {"LBBB", "AF"}


def test_such_a_concept_is_named_below_the_nearest_ones_and_has_a_column_in_a_table(counted, header, place):
    _, out, _ = invoke("predict", counted, header, "--top", "1", "--format", "json")
    assert [each["abbr"] for each in json.loads(out)][1:] in ([], ["LBBB"])
    assert run("predict", counted, header, "--out", place / "shares.csv") == 0
    table = pd.read_csv(place / "shares.csv")
    onto = ecg_ontology.load()
    root = onto.families[onto.node("LBBB").index]
    conduction = [node.abbr for node in onto.nodes if onto.families[node.index] == root]
    assert table.columns[-1] == "LBBB by family"
    assert table["LBBB by family"][0] == pytest.approx(table[conduction].sum(axis=1)[0], abs=1e-5)


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


@pytest.fixture
def calibrated(place) -> Path:
    """The same run, with answers that are sure of some block, not which, and of atrial fibrillation."""
    model = MarEcg.from_pretrained(place / "run")
    model.save_pretrained(place / "sure" / "model")
    of = {"Conduction": Calibration(shift=40), "LBBB": Calibration(shift=-40), "AF": Calibration(shift=40)}
    answers = Answers(weights=weights_sha256(model), records=7, of=of)
    (place / "sure" / "model" / ANSWERS).write_text(answers.model_dump_json(), encoding="utf-8")
    return place / "sure"


def test_what_can_be_told_at_a_risk_is_a_finding_or_its_family_alone(calibrated, header):
    _, out, _ = invoke("predict", calibrated, header, "--top", "1", "--set", "risk=0.3")
    start = "at a 30% risk of error: "
    told = [line.removeprefix(start) for line in out.splitlines() if line.startswith(start)]
    assert sorted(told) == [
        "Atrial fibrillation (AF), probability 100%",
        "Conduction, without saying which finding (Conduction), probability 100%",
    ]
    _, out, _ = invoke("predict", calibrated, header, "--top", "1", "--format", "json")
    assert {each["abbr"] for each in json.loads(out) if each["answer"]} == {"AF", "Conduction"}


def test_a_table_says_what_can_be_told_of_each_record(calibrated, place, tmp_path):
    run("predict", calibrated, place / "wfdb", "--out", tmp_path / "told.csv")
    told = pd.read_csv(tmp_path / "told.csv")["answers"]
    assert {tuple(sorted(each.split("; "))) for each in told} == {("AF", "Conduction")}


def test_labels_of_some_records_adapt_what_is_told_of_all(calibrated, place, header, tmp_path):
    path = calibrated / "model" / ANSWERS
    answers = Answers.model_validate_json(path.read_text(encoding="utf-8"))
    even = answers.model_copy(update={"of": {"AF": Calibration(slope=1e-9, shift=2.3)}})
    path.write_text(even.model_dump_json(), encoding="utf-8")
    run("predict", calibrated, place / "wfdb", "--out", tmp_path / "told.csv")
    names = pd.read_csv(tmp_path / "told.csv")["record"]
    labels = pd.DataFrame({"record": names, "AF": np.arange(len(names)) == 0}).astype({"AF": int})
    labels.to_csv(tmp_path / "labels.csv", index=False)
    adapt = ("--set", f"calibrate={tmp_path / 'labels.csv'}")
    run("predict", calibrated, place / "wfdb", "--out", tmp_path / "adapted.csv", *adapt)
    told, adapted = (pd.read_csv(tmp_path / f"{name}.csv")["answers"] for name in ("told", "adapted"))
    assert (told.eq("AF").all(), adapted.isna().all()) == (True, True)
    code, _, err = invoke("predict", calibrated, header, *adapt)
    assert (code, "calibrate needs several records" in err) == (2, True)


def test_labels_that_cannot_be_used_are_refused_before_any_record_is_read(calibrated, tmp_path):
    (tmp_path / "labels.csv").write_text("record,af\na,1\n", encoding="utf-8")
    (tmp_path / "records").mkdir()
    for name in "ab":
        (tmp_path / "records" / f"{name}.hea").write_text(
            f"{name} 1 500 5000\n{name}.dat 16\n", encoding="utf-8"
        )
    adapt = ("--set", f"calibrate={tmp_path / 'labels.csv'}")
    code, _, err = invoke("predict", calibrated, tmp_path / "records", "--out", tmp_path / "told.csv", *adapt)
    assert (code, "labels.csv: has no calibrated concept 'af'" in err) == (3, True)


def test_a_risk_is_refused_where_no_answer_is_calibrated_or_it_is_no_share(place, calibrated, header):
    code, _, err = invoke("predict", place / "run", header, "--set", "risk=0.3")
    assert (code, "has no calibrated answers" in err) == (2, True)
    code, _, err = invoke("predict", calibrated, header, "--set", "risk=2")
    assert (code, "risk must be less than 1, not '2'" in err) == (2, True)


def test_answers_that_were_fitted_for_other_weights_are_refused(calibrated, header):
    path = calibrated / "model" / ANSWERS
    answers = Answers.model_validate_json(path.read_text(encoding="utf-8"))
    path.write_text(answers.model_copy(update={"weights": "0" * 64}).model_dump_json(), encoding="utf-8")
    code, _, err = invoke("predict", calibrated, header)
    assert (code, "was fitted for other weights" in err) == (3, True)
    path.write_text("{}", encoding="utf-8")
    assert "isn't a file of calibrated answers" in invoke("predict", calibrated, header)[2]
