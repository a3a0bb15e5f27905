import hashlib
import shutil
from pathlib import Path

import fsspec
import numpy as np
import pytest
import torch

import ecg_ontology
from marecg.corpus import trained_on
from marecg.corpus.prepared import Corpus
from marecg.errors import CheckpointError, InputError, UsageError
from marecg.evaluate import evaluation
from marecg.evaluate.evaluation import evaluate
from marecg.evaluate.methods import encoder
from marecg.evaluate.probe.merl import BY_NAME, DIFFERENCES
from marecg.evaluate.probe.protocol import Protocol
from marecg.evaluate.request import Request
from marecg.evaluate.scores.metrics import macro_auc
from marecg.evaluate.scores.predictions import load
from marecg.evaluate.scores.results import Report
from marecg.evaluate.tasks.registry import open_task
from marecg.model.mar_ecg import MarEcg
from marecg.read.datasets import ptbxl

WHOLE = Request.named(fractions=(1.0,))


@pytest.fixture(scope="module")
def report(run_folder, ptbxl_root) -> Report:
    return evaluate(run_folder, "ptbxl-super", ptbxl_root, Request.named(fractions=(1.0, 0.5), seeds=2))


def untimed(report: Report) -> dict:
    """Everything but the wall times."""
    return report.model_dump(exclude={"cells": {"__all__": {"seconds"}}})


def test_every_method_stands_side_by_side_at_every_fraction_in_ascending_order(report):
    cells = [(cell.method, cell.fraction, cell.records, cell.seeds) for cell in report.cells]
    methods = ("encoder", "encoder, wide", "encoder, mean H", "random encoder", "hand-crafted")
    assert cells == [(method, *rest) for method in methods for rest in ((0.5, 24, 2), (1.0, 48, 1))]


def test_hand_crafted_features_tell_the_synthetic_classes_apart(report):
    assert report.cells[-1].macro_auc.mean > 0.9


def test_a_report_says_everything_that_its_numbers_depend_on(report, run_folder):
    assert (report.task, report.protocol) == ("ptbxl-super", "strict")
    assert report.folds == "PTB-XL strat_fold: train 1–8, val 9, test 10"
    assert report.window == "the first 10 s at 500 Hz"
    assert (report.records.train, report.records.val, report.records.test) == (48, 6, 6)
    assert (report.records.unlabelled, report.records.missing) == (20, ("81",))
    hashes = (report.model_sha256, report.ontology_sha256, report.data_sha256, report.task_sha256)
    assert all(len(sha256) == 64 for sha256 in hashes)
    assert report.ontology_sha256 == ecg_ontology.load(run_folder / "model/ontology.json").sha256


def test_a_spread_needs_more_than_one_seed(report):
    assert report.cells[0].macro_auc.sd is not None
    assert report.cells[1].macro_auc.sd is None


def test_the_report_is_kept_in_the_run_folder(report, run_folder):
    kept = (run_folder / "probe/ptbxl-super-strict.json").read_text()
    assert Report.model_validate_json(kept) == report


def test_probing_again_gives_the_same_report(report, run_folder, ptbxl_root):
    again = evaluate(run_folder, "ptbxl-super", ptbxl_root, Request.named(fractions=(0.5, 1.0), seeds=2))
    assert untimed(again) == untimed(report)


def test_the_models_files_are_left_as_they_were(report, run_folder, ptbxl_root, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(run_folder / "model", run / "model")
    before = {path.name: path.read_bytes() for path in (run / "model").iterdir()}
    evaluate(run, "ptbxl-sub", ptbxl_root, WHOLE)
    assert {path.name: path.read_bytes() for path in (run / "model").iterdir()} == before


def test_a_class_without_negatives_in_test_is_named_and_left_out(run_folder, ptbxl_root, tmp_path):
    root = tmp_path / "copy"
    shutil.copytree(ptbxl_root, root)
    table = (root / "ptbxl_database.csv").read_text().splitlines()
    fold_10 = [row.replace("'1AVB'", "'NORM'") if row.split(",")[-2] == "10" else row for row in table]
    (root / "ptbxl_database.csv").write_text("\n".join(fold_10))
    cell = evaluate(run_folder, "ptbxl-super", root, WHOLE).cells[0]
    assert cell.left_out == ("CD",)
    assert [(score.name, score.support) for score in cell.classes] == [("MI", 2), ("NORM", 4), ("STTC", 2)]
    assert cell.macro_auc.mean == pytest.approx(sum(score.auc.mean for score in cell.classes) / 3)


def test_an_unusable_record_is_named_with_its_reason_and_takes_no_part(run_folder, ptbxl_root, tmp_path):
    root = tmp_path / "copy"
    shutil.copytree(ptbxl_root, root)
    signal = root / "records500/00000/00001_hr.dat"
    signal.write_bytes(signal.read_bytes()[:1000])
    records = evaluate(run_folder, "ptbxl-super", root, WHOLE).records
    assert records.unreadable == {"1": "truncated"}
    assert records.train == 47


@pytest.mark.parametrize("fractions", [(0.0,), (1.5,), (float("nan"),), ()])
def test_an_impossible_fraction_is_refused(fractions, run_folder, ptbxl_root):
    with pytest.raises(UsageError, match="fraction"):
        evaluate(run_folder, "ptbxl-super", ptbxl_root, Request.named(fractions=fractions))


def test_no_seeds_are_refused(run_folder, ptbxl_root):
    with pytest.raises(UsageError, match="seeds 0"):
        evaluate(run_folder, "ptbxl-super", ptbxl_root, Request.named(seeds=0))


def test_a_folder_without_a_model_is_refused(ptbxl_root, tmp_path):
    with pytest.raises(CheckpointError, match="model"):
        evaluate(tmp_path, "ptbxl-super", ptbxl_root)


def test_every_cell_has_an_interval_around_it_and_a_paired_difference_to_the_encoder(report):
    for cell in report.cells:
        assert cell.interval.low <= cell.macro_auc.mean <= cell.interval.high
        assert (cell.versus_encoder is None) == (cell.method == "encoder")
    hand_crafted, encoder = report.cells[-1], report.cells[1]
    assert hand_crafted.versus_encoder.mean == pytest.approx(
        hand_crafted.macro_auc.mean - encoder.macro_auc.mean, abs=0.1
    )


def test_an_encoder_with_prototypes_is_also_read_without_labels(gscl_run, ptbxl_root):
    report = evaluate(gscl_run, "ptbxl-super", ptbxl_root, WHOLE)
    cell = report.cells[-1]
    assert (cell.method, cell.fraction, cell.records, cell.chosen) == ("zero-shot", 0.0, 0, ())
    assert cell.val_macro_auc is None
    assert [score.name for score in cell.classes] == ["CD", "MI", "NORM", "STTC"]


def test_an_untrained_pool_is_named_and_a_trained_one_is_not(report, run_folder, ptbxl_root, tmp_path):
    assert "h_rhythm's pool" in report.remarks[0]
    model = MarEcg.from_pretrained(run_folder)
    with torch.no_grad():
        model.pool.aggregate[0].bias += 0.1
    model.save_pretrained(tmp_path / "run" / "model")
    other = evaluate(tmp_path / "run", "ptbxl-super", ptbxl_root, WHOLE)
    assert other.remarks == ()
    assert [cell.method for cell in other.cells[:3]] == ["encoder", "encoder, wide", "random encoder"]


def test_the_wide_readout_is_what_all_are_compared_with_where_it_is_asked_for(gscl_run, ptbxl_root):
    report = evaluate(gscl_run, "ptbxl-super", ptbxl_root, Request.named(fractions=(1.0,), readout="wide"))
    assert report.reference == report.cells[0].method == "encoder, wide"
    dimensions = {cell.method: cell.dimension for cell in report.cells}
    assert (dimensions["encoder, wide"], dimensions["zero-shot"]) == (268, 16)
    assert dimensions["random encoder, wide"] == 268
    for cell in report.cells[1:-1]:
        assert cell.versus_encoder.mean == pytest.approx(
            cell.macro_auc.mean - report.cells[0].macro_auc.mean, abs=0.1
        )


def test_a_readout_that_does_not_exist_is_refused(run_folder, ptbxl_root):
    with pytest.raises(UsageError, match="no readout 'all'"):
        evaluate(run_folder, "ptbxl-super", ptbxl_root, Request.named(readout="all"))


def test_an_encoder_without_prototypes_is_not(report):
    assert "zero-shot" not in {cell.method for cell in report.cells}


def test_the_predictions_give_the_numbers_of_the_report_again(run_folder, ptbxl_root):
    report = evaluate(run_folder, "ptbxl-super", ptbxl_root, Request.named(fractions=(0.5, 1.0), seeds=2))
    kept = load(run_folder / "probe/ptbxl-super-strict.npz")
    assert len(kept.ids) == report.records.test
    for cell in report.cells:
        logits_SMK = kept.logits[cell.method, cell.fraction]
        found = [macro_auc(kept.y_MK, logits_MK) for logits_MK in logits_SMK]
        assert sum(found) / len(found) == pytest.approx(cell.macro_auc.mean)


def test_another_models_features_go_through_the_same_protocol(run_folder, ptbxl_root, tmp_path):
    task = open_task("ptbxl-super", ptbxl_root)
    labels = np.zeros((80, task.y_MK.shape[1]))
    labels[task.row_M] = task.y_MK
    np.savez(tmp_path / "other.npz", ids=np.array(task.recordings.ids), features=labels)
    other = {"oracle": tmp_path / "other.npz"}
    cell = evaluate(run_folder, "ptbxl-super", ptbxl_root, WHOLE, features=other).cells[-1]
    assert (cell.method, cell.dimension, cell.macro_auc.mean) == ("oracle", 4, 1.0)


def test_protocol_merl_says_how_it_differs_from_merls_code(run_folder, ptbxl_root):
    report = evaluate(run_folder, "ptbxl-super", ptbxl_root, Request.named(fractions=(0.5,), protocol="merl"))
    assert report.notes == (BY_NAME, *DIFFERENCES)
    assert report.window == "up to the first 5000 samples"
    assert report.normalisation == "signals scaled to 0–1 over all leads; features as they are"
    assert report.cells[0].seeds == 1
    assert 1 <= report.cells[0].chosen[0] <= 100


@pytest.mark.parametrize(
    ("protocol", "words"), [("loose", "merl-positional"), ("merl-positional", "--splits")]
)
def test_an_impossible_protocol_is_refused(protocol, words, run_folder, ptbxl_root):
    with pytest.raises(UsageError, match=words):
        evaluate(run_folder, "ptbxl-super", ptbxl_root, Request.named(protocol=protocol))


@pytest.mark.parametrize("name", ["encoder", "encoder, wide", "encoder, mean H", "zero-shot"])
def test_features_under_a_name_that_is_taken_are_refused(name, run_folder, ptbxl_root, tmp_path):
    with pytest.raises(UsageError, match="is taken"):
        evaluate(run_folder, "ptbxl-super", ptbxl_root, features={name: tmp_path / "f.npz"})


def test_other_features_are_judged_without_a_run_beside_the_hand_crafted_ones(ptbxl_root, tmp_path):
    task = open_task("ptbxl-super", ptbxl_root)
    noise = np.random.default_rng(0).normal(size=(80, 3))
    np.savez(tmp_path / "other.npz", ids=np.array(task.recordings.ids), features=noise)
    files = {"ECG-FM": tmp_path / "other.npz"}
    report = evaluate(
        None,
        "ptbxl-super",
        ptbxl_root,
        WHOLE,
        features=files,
        out=tmp_path / "ecg-fm",
    )
    assert [cell.method for cell in report.cells] == ["ECG-FM", "hand-crafted"]
    assert (report.reference, report.leak, report.ontology_sha256) == ("ECG-FM", None, "")
    assert report.model_sha256 == hashlib.sha256((tmp_path / "other.npz").read_bytes()).hexdigest()
    assert report.cells[0].versus_encoder is None
    assert report.cells[1].versus_encoder.mean > 0
    kept = tmp_path / "ecg-fm/probe/ptbxl-super-strict.json"
    assert Report.model_validate_json(kept.read_text()) == report


@pytest.mark.parametrize(
    ("files", "words"), [({}, "nothing to judge"), ({"x": Path("x.npz")}, "has no place")]
)
def test_without_a_run_features_and_a_place_are_needed(files, words, ptbxl_root):
    with pytest.raises(UsageError, match=words):
        evaluate(None, "ptbxl-super", ptbxl_root, features=files)


def test_a_model_without_a_run_is_probed_where_its_report_has_a_place(
    run_folder, corpus_folder, ptbxl_root, tmp_path
):
    sent = tmp_path / "sent"
    shutil.copytree(run_folder / "model", sent)
    with pytest.raises(UsageError, match="has no place"):
        evaluate(sent, "ptbxl-super", ptbxl_root, WHOLE)
    unknown = evaluate(sent, "ptbxl-super", ptbxl_root, WHOLE, out=tmp_path / "out")
    assert unknown.leak is None
    assert (tmp_path / "out/probe/ptbxl-super-strict.json").is_file()
    assert not (sent / "probe").exists()
    trained_on.write(Corpus.open(corpus_folder), sent)
    known = evaluate(sent, "ptbxl-super", ptbxl_root, WHOLE, out=tmp_path / "out")
    assert known.leak is not None
    assert known.leak.records == 0


def test_a_run_in_a_store_is_probed_where_its_report_has_a_place(
    run_folder, ptbxl_root, tmp_path, monkeypatch
):
    monkeypatch.setenv("MARECG_CACHE", str(tmp_path / "cache"))
    store = fsspec.filesystem("memory")
    store.put(str(run_folder / "model"), f"/{tmp_path.name}/run/model", recursive=True)
    with pytest.raises(UsageError, match="has no place"):
        evaluate(f"memory://{tmp_path.name}/run", "ptbxl-super", ptbxl_root, WHOLE)
    report = evaluate(f"memory://{tmp_path.name}/run", "ptbxl-super", ptbxl_root, WHOLE, out=tmp_path / "out")
    assert report.reference == "encoder"
    assert (tmp_path / "out/probe/ptbxl-super-strict.json").is_file()


def test_a_report_says_how_long_every_cell_took_and_which_classes_count(report):
    assert all(0 < cell.seconds < 60 for cell in report.cells)
    assert "left out" in report.policy


def test_a_test_part_that_tells_nothing_apart_is_named_in_one_line(run_folder, ptbxl_root, tmp_path):
    root = tmp_path / "copy"
    shutil.copytree(ptbxl_root, root)
    statements = (root / "scp_statements.csv").read_text().splitlines()
    (root / "scp_statements.csv").write_text(
        "\n".join([statements[0], *(row for row in statements if row.startswith("SR"))])
    )
    with pytest.raises(InputError, match="none of the 6 test records tells two classes apart"):
        evaluate(run_folder, "ptbxl-rhythm", root, WHOLE)


def test_the_four_tasks_of_ptbxl_read_each_recording_once(run_folder, ptbxl_root, tmp_path, monkeypatch):
    read: list[int] = []
    original = ptbxl.read

    def watched(root, entry, seconds):
        read.append(entry.ecg_id)
        return original(root, entry, seconds)

    monkeypatch.setattr(ptbxl, "read", watched)
    for task in ("ptbxl-super", "ptbxl-sub"):
        evaluate(run_folder, task, ptbxl_root, WHOLE, kept_in=tmp_path)
    assert sorted(read) == list(range(1, 81))


def test_what_stands_beside_several_runs_is_fitted_once(run_folder, gscl_run, ptbxl_root, monkeypatch):
    fitted: list[tuple[int, ...]] = []
    original = Protocol.trials

    def watched(self, x_MF, *rest, **options):
        fitted.append(x_MF.shape)
        return original(self, x_MF, *rest, **options)

    monkeypatch.setattr(Protocol, "trials", watched)
    known: evaluation.TrialCache = {}
    kept_in = run_folder / "features"
    reports = [
        evaluate(run, "ptbxl-super", ptbxl_root, WHOLE, kept_in=kept_in, known=known)
        for run in (run_folder, gscl_run)
    ]
    assert len(fitted) == 8  # two encoders, read three ways; a random one of their shape; hand-crafted
    alone = evaluate(gscl_run, "ptbxl-super", ptbxl_root, WHOLE, kept_in=kept_in)
    assert untimed(reports[1]) == untimed(alone)
    half = Request.named(fractions=(0.5,), seeds=1)
    asked_otherwise = evaluate(gscl_run, "ptbxl-super", ptbxl_root, half, kept_in=kept_in, known=known)
    assert {cell.fraction for cell in asked_otherwise.cells} == {0.0, 0.5}


@pytest.mark.parametrize("tensor", ["prototypes", "pool.query"])
def test_an_encoder_that_does_not_stay_frozen_is_refused_and_leaves_nothing(
    tensor, run_folder, ptbxl_root, tmp_path, monkeypatch
):
    """A single value of a buffer, or of a parameter, moves in the last batch."""
    original = encoder.embed

    def restless(model, *rest, **options):
        model.state_dict()[tensor].view(-1)[0].add_(1e-3)
        return original(model, *rest, **options)

    monkeypatch.setattr(encoder, "embed", restless)
    with pytest.raises(CheckpointError, match="the encoder changed while it was probed"):
        evaluate(run_folder, "ptbxl-super", ptbxl_root, WHOLE, out=tmp_path)
    assert not list(tmp_path.rglob("*.*"))


def test_whoever_waits_sees_features_and_fits_go_by(run_folder, ptbxl_root, tmp_path):
    seen: list[tuple[str, int]] = []

    def watch(steps, what):
        steps = list(steps)
        seen.append((what, len(steps)))
        return steps

    evaluate(
        run_folder,
        "ptbxl-super",
        ptbxl_root,
        Request.named(fractions=(0.5, 1.0), seeds=2),
        kept_in=tmp_path,
        watch=watch,
    )
    assert seen == [
        ("ptbxl: features", 3),
        ("ptbxl-super: encoder", 3),
        ("ptbxl-super: encoder, wide", 3),
        ("ptbxl-super: encoder, mean H", 3),
        ("ptbxl-super: random encoder", 3),
        ("ptbxl-super: hand-crafted", 3),
    ]
