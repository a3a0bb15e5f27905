"""Probing a run: its report holds every method's cells and all that its numbers depend on."""

from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch
from tests.marecg.evaluate.conftest import SMALL
from tests.marecg.evaluate.made_tasks import ALONE, HALF_AND_WHOLE, OTHERS, WHOLE, probed, untimed
from tests.marecg.told import Told

import ecg_ontology
from marecg.errors import InputError, UsageError
from marecg.evaluate.methods.frozen_encoder import random_control, random_encoder
from marecg.evaluate.probe.merl import NOTES
from marecg.evaluate.request import Request, protocol_named
from marecg.evaluate.scores.metrics import f_max, macro_auc
from marecg.evaluate.scores.predictions import load
from marecg.evaluate.scores.results import Report, basis
from marecg.model.mar_ecg import MarEcg


def test_every_method_stands_side_by_side_at_every_fraction_in_ascending_order(report):
    cells = [(cell.method, cell.fraction, cell.records, cell.seeds) for cell in report.cells]
    methods = ("encoder", "encoder, wide", "encoder, mean H", "random encoder", "hand-crafted")
    assert cells == [(method, *rest) for method in methods for rest in ((0.5, 24, 2), (1.0, 48, 1))]
    spreads = [cell.macro_auc.sd is None for cell in report.cells]
    assert spreads == [False, True] * len(methods), "it needs more than one seed"
    assert report.cells[-1].macro_auc.mean > 0.9, "hand-crafted features tell the synthetic classes apart"


def test_a_report_says_everything_that_its_numbers_depend_on(report, run_folder):
    assert (report.task, report.protocol) == ("ptbxl-super", "strict")
    assert report.folds == "PTB-XL strat_fold: train 1–8, val 9, test 10"
    assert report.window == "the first 10 s at 500 Hz"
    counts = {"train": 48, "val": 6, "test": 6, "unlabelled": 20, "missing": ("81",), "unreadable": {}}
    assert report.records.model_dump() == counts
    hashes = (report.model_sha256, report.ontology_sha256, report.data_sha256, report.task_sha256)
    assert all(len(sha256) == 64 for sha256 in hashes)
    assert all(cell.seconds > 0 for cell in report.cells)
    assert "left out" in report.policy
    assert report.ontology_sha256 == ecg_ontology.load(run_folder / "model/ontology.json").sha256


def test_the_report_and_predictions_that_give_its_numbers_are_kept_and_probing_again_gives_the_same(
    report, run_folder, ptbxl_root, tmp_path
):
    random_encoder(SMALL, seed=3).save_pretrained(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert untimed(probed(run_folder, "ptbxl-super", ptbxl_root, HALF_AND_WHOLE)) == untimed(report)
    file = run_folder / "probe/ptbxl-super-strict.json"
    assert not file.stat().st_mode & 0o007  # it names records
    text = file.read_text()
    assert untimed(Report.model_validate_json(text)) == untimed(report)
    predictions = load(run_folder / "probe/ptbxl-super-strict.npz")
    assert len(predictions.ids) == report.records.test
    for cell in report.cells:
        aucs = [macro_auc(predictions.y_MK, each) for each in predictions.logits[cell.method, cell.fraction]]
        assert sum(aucs) / len(aucs) == pytest.approx(cell.macro_auc.mean)
        best = [f_max(predictions.y_MK, each) for each in predictions.logits[cell.method, cell.fraction]]
        assert sum(best) / len(best) == pytest.approx(cell.f_max.mean)
        assert cell.macro_ap.mean == pytest.approx(
            sum(each.ap.mean for each in cell.classes) / len(cell.classes)
        )
    assert {path.name: path.read_bytes() for path in (run_folder / "model").iterdir()} == before


def test_every_cell_has_an_interval_around_it_and_a_paired_difference_to_the_encoder(report):
    for cell in report.cells:
        assert cell.interval.low <= cell.macro_auc.mean <= cell.interval.high
        assert (cell.versus_encoder is None) == (cell.method == "encoder")
    hand_crafted, encoder = report.cells[-1], report.cells[1]
    assert hand_crafted.versus_encoder.mean == pytest.approx(
        hand_crafted.macro_auc.mean - encoder.macro_auc.mean, abs=0.1
    )


def test_an_encoder_with_prototypes_is_also_read_without_labels(gscl_run, ptbxl_root):
    report = probed(gscl_run, "ptbxl-super", ptbxl_root, ALONE)
    cell = report.cells[-1]
    assert (cell.method, cell.fraction, cell.records, cell.chosen) == ("zero-shot", 0.0, 0, ())
    assert cell.val_macro_auc is None
    assert [score.name for score in cell.classes] == ["CD", "MI", "NORM", "STTC"]


def test_an_untrained_pool_is_named_and_a_trained_one_is_not(report, run_folder, ptbxl_root, tmp_path):
    assert "the pool of h_rhythm" in report.remarks[0]
    model = MarEcg.from_pretrained(run_folder)
    with torch.no_grad():
        model.pool.aggregate[0].bias += 0.1
    model.save_pretrained(tmp_path / "run" / "model")
    request = replace(WHOLE, without=("hand-crafted",))
    other = probed(tmp_path / "run", "ptbxl-super", ptbxl_root, request)
    assert other.remarks == ()
    assert [cell.method for cell in other.cells[:3]] == ["encoder", "encoder, wide", "random encoder"]


@pytest.mark.parametrize(("readout", "width"), [("wide", 268), ("beats", 268 + 16 * 16)])
def test_the_readout_that_is_asked_for_is_what_all_are_compared_with(gscl_run, ptbxl_root, readout, width):
    report = probed(gscl_run, "ptbxl-super", ptbxl_root, replace(WHOLE, readout=readout))
    assert report.reference == report.cells[0].method == f"encoder, {readout}"
    dimensions = {cell.method: cell.dimension for cell in report.cells}
    assert (dimensions["encoder, wide"], dimensions["zero-shot"]) == (268, 16)
    assert dimensions[f"random encoder, {readout}"] == width
    for cell in report.cells[1:-1]:
        assert cell.versus_encoder.mean == pytest.approx(
            cell.macro_auc.mean - report.cells[0].macro_auc.mean, abs=0.1
        )


def test_concepts_are_read_behind_the_beats(gscl_run, ptbxl_root):
    request = Request(fractions=(0.1, 1.0), seeds=1, readout="concepts", resamples=50, without=OTHERS)
    report = probed(gscl_run, "ptbxl-super", ptbxl_root, request)
    of = {cell.method: cell for cell in report.cells if cell.fraction == 1}
    assert report.reference == "encoder, beats + concepts"
    assert {"encoder, beats", "random encoder, beats"} < of.keys()
    logits = load(gscl_run / "probe/ptbxl-super-strict.npz").logits
    assert not (logits["encoder, beats", 0.1] == logits["encoder, beats + concepts", 0.1]).all()
    unseen = {"encoder, beats": ("MI", "NORM"), "encoder, beats + concepts": ("NORM",)}
    cells = [of[name].model_copy(update={"untrained": (names,)}) for name, names in unseen.items()]
    lacking = [each for each in basis(report.model_copy(update={"cells": cells})) if "draw of" in each[0]]
    assert lacking == [("without examples in a draw of 100 %", "MI, NORM")]


def test_classes_with_few_positives_are_named_and_the_mean_without_them_is_given(gscl_run, ptbxl_root):
    report = probed(gscl_run, "ptbxl-super", ptbxl_root, ALONE)
    cell = report.cells[0]
    scores = [
        score.model_copy(update={"support": support, "auc": score.auc.model_copy(update={"mean": mean})})
        for score, support, mean in zip(cell.classes[:3], (9, 10, 400), (0.5, 0.8, 0.7), strict=True)
    ]
    cells = (cell.model_copy(update={"classes": tuple(scores)}),)
    records = report.records.model_copy(update={"test": 405})
    said = dict(basis(report.model_copy(update={"cells": cells, "records": records})))
    assert said["classes with fewer than 10 positives or negatives in test"] == ", ".join(
        scores[place].name for place in (0, 2)
    )
    assert said["macro AUC in percent over the other 1"] == f"{cell.method} at 100 % 80.0"


def test_rows_can_be_left_out_but_for_the_reference_and_are_not_computed(gscl_run, ptbxl_root, tmp_path):
    request = replace(WHOLE, without=("encoder", "hand-crafted"), readout="wide")
    report = probed(gscl_run, "ptbxl-super", ptbxl_root, request, features_in=tmp_path)
    assert not list(tmp_path.glob("*hand-crafted*"))
    assert list(tmp_path.glob("*random-encoder*"))
    rest = ["encoder, wide", "encoder, mean H", "random encoder", "random encoder, wide", "zero-shot"]
    assert [cell.method for cell in report.cells] == rest
    for wrong in ("encoder, wide", "encoder, long"):
        with pytest.raises(UsageError, match=f"rows that can be left out, got {wrong}"):
            probed(gscl_run, "ptbxl-super", ptbxl_root, replace(request, without=(wrong,)))


def test_the_random_encoder_is_read_as_far_as_its_rows_ask_for(gscl_run, ptbxl_root, tmp_path):
    without = ("random encoder, beats", "hand-crafted", "encoder", "encoder, wide", "encoder, mean H")
    report = probed(
        gscl_run,
        "ptbxl-super",
        ptbxl_root,
        replace(WHOLE, without=without, readout="beats"),
        features_in=tmp_path,
    )
    control = random_control(MarEcg.from_pretrained(gscl_run))
    [features] = tmp_path.glob("*random-encoder*")
    assert features.name.endswith(control.sha256[:12])
    assert [cell.method for cell in report.cells] == ["encoder, beats", "random encoder", "zero-shot"]


def test_progress_says_what_is_being_fitted(gscl_run, ptbxl_root):
    notes: list[tuple[str, int, str]] = []

    @contextmanager
    def progress(what):
        yield lambda done, total, note="": notes.append((what, done, note))

    probed(gscl_run, "ptbxl-super", ptbxl_root, replace(ALONE, fractions=(0.5, 1.0)), progress=progress)
    fits = [each for each in notes if each[0] == "ptbxl-super, encoder: fits"]
    assert [done for _, done, note in fits if not note] == [1, 2, 3, 4, 5, 6]
    assert fits[0] == (fits[0][0], 0, "now 24 records, strength 1e-05, class 1 of 4")


def test_concepts_are_refused_where_there_are_none(run_folder, gscl_run, ptbxl_root, monkeypatch):
    with pytest.raises(UsageError, match="no prototypes"):
        probed(run_folder, "ptbxl-super", ptbxl_root, Request(readout="concepts"))
    with pytest.raises(UsageError, match="protocol merl"):
        Request(readout="concepts", protocol=protocol_named("merl"))
    monkeypatch.setattr("marecg.evaluate.methods.frozen_encoder.known_concepts", lambda *_: ())
    with pytest.raises(InputError, match="ptbxl-super: readout=concepts needs a class with a concept"):
        probed(gscl_run, "ptbxl-super", ptbxl_root, Request(readout="concepts"))


@pytest.mark.slow
def test_protocol_merl_says_how_it_differs_from_merls_code(run_folder, ptbxl_root):
    request = replace(WHOLE, fractions=(0.5,), protocol=protocol_named("merl"))
    report = probed(run_folder, "ptbxl-super", ptbxl_root, request)
    assert report.notes == NOTES
    assert report.window == "up to the first 5000 samples"
    assert report.normalisation == "signals scaled to 0–1 over all leads; features as they are"
    assert report.cells[0].seeds == 1
    assert 1 <= report.cells[0].chosen[0] <= 100


def test_the_four_tasks_of_ptbxl_read_each_recording_once(run_folder, ptbxl_root, tmp_path):
    few = replace(WHOLE, without=("encoder, wide", "encoder, mean H"))
    probed(run_folder, "ptbxl-super", ptbxl_root, few, features_in=tmp_path)
    blocks = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")}
    assert blocks
    probed(run_folder, "ptbxl-sub", ptbxl_root, few, features_in=tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")} == blocks


@pytest.mark.slow
def test_whoever_waits_sees_features_and_fits_go_by(run_folder, ptbxl_root, tmp_path):
    told = Told()
    probed(run_folder, "ptbxl-super", ptbxl_root, HALF_AND_WHOLE, features_in=tmp_path, progress=told)
    rows = ("encoder", "encoder, wide", "encoder, mean H", "random encoder", "hand-crafted")
    fits = [f"ptbxl-super, {row}: fits" for row in rows]
    assert list(dict.fromkeys(what for what, *_ in told.seen)) == ["ptbxl, features: records", *fits]
    for fit in fits:
        shown = [(done, note) for what, done, _, note in told.seen if what == fit]
        assert sorted({done for done, _ in shown}) == [0, 1, 2, 3]
        assert all(note.startswith("now ") for done, note in shown if not done)
