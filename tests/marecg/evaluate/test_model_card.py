"""What a probe measured stands in the card, figure by figure, and the weights stay as they were."""

import shutil
from pathlib import Path

import pytest
from scipy.special import expit
from tests.marecg.evaluate import made_tasks

from marecg.errors import UsageError
from marecg.evaluate import model_card
from marecg.evaluate.model_card import write_model_card
from marecg.evaluate.request import Request
from marecg.evaluate.scores.metrics import expected_calibration_error
from marecg.evaluate.scores.predictions import load
from marecg.evaluate.table import read_report
from marecg.model.mar_ecg import MarEcg


@pytest.fixture(scope="module")
def measured(run_folder: Path, ptbxl_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("measured") / "run"
    shutil.copytree(run_folder / "model", run / "model")
    without = ("encoder, wide", "encoder, mean H", "hand-crafted")
    request = Request(fractions=(0.5, 1.0), seeds=1, resamples=50, without=without)
    for task in ("ptbxl-super", "ptbxl-sub"):
        made_tasks.probed(run, task, ptbxl_root, request)
    return run


@pytest.fixture
def probed(measured: Path, tmp_path: Path) -> Path:
    return shutil.copytree(measured, tmp_path / "run")


def test_every_figure_of_every_probe_stands_in_the_card_with_its_interval(probed):
    before = (probed / "model" / "model.safetensors").read_bytes()
    card = write_model_card(probed).read_text(encoding="utf-8")
    for task in ("ptbxl-super", "ptbxl-sub"):
        report = read_report(probed / "probe" / f"{task}-strict.json")
        assert f"{task} ({report.records.test} test)" in card
        for cell in report.cells:
            low, high = 100 * cell.interval.low, 100 * cell.interval.high
            mark = "?" if cell.method.startswith("encoder") else ""  # the run says not what it was trained on
            start = f"| {cell.method} | {100 * cell.fraction:g} % |"
            row = next(line for line in card.splitlines() if line.startswith(start))
            assert f" {100 * cell.macro_auc.mean:.1f}{mark} [{low:.1f}, {high:.1f}] |" in row
    assert "?: it is unknown" in card
    assert (probed / "model" / "model.safetensors").read_bytes() == before
    cells = [cell for path in (probed / "probe").glob("*.json") for cell in read_report(path).cells]
    assert len(MarEcg.from_pretrained(probed).scores) == len(cells)


def test_the_card_tells_classes_and_groups_of_what_was_probed_and_where_it_fails(probed, monkeypatch):
    monkeypatch.setattr(model_card, "MIN_POSITIVES", 1)
    card = write_model_card(probed).read_text(encoding="utf-8")
    report = read_report(probed / "probe" / "ptbxl-super-strict.json")
    largest = next(cell for cell in report.cells if cell.method == "encoder" and cell.fraction == 1)
    assert "### ptbxl-super: encoder, 100 %, by class" in card
    for each in largest.classes:
        assert f"| {each.name} | {each.support} | {100 * each.auc.mean:.1f} [" in card
    for group in report.groups:
        figures = f"{group.records} | {group.classes} | {100 * group.auc:.1f} ["
        assert f"| {group.kind} {group.name} | {figures}" in card
    lows = [each.low for score in MarEcg.from_pretrained(probed).scores for each in score.classes]
    assert ("AUC may be below 70" in card) == (min(lows) < 0.7)
    predicted = load(probed / "probe" / "ptbxl-super-strict.npz")
    figures = next(
        each.classes
        for each in MarEcg.from_pretrained(probed).scores
        if (each.task, each.method, each.fraction) == ("ptbxl-super", "encoder", 1)
    )
    for figure in figures:
        k = predicted.classes.index(figure.name)
        p_M = expit(predicted.logits["encoder", 1.0][0, :, k])  # of a single draw
        assert figure.ece == pytest.approx(
            expected_calibration_error(predicted.y_MK[:, k].astype(float), p_M)
        )


def test_the_probe_of_another_model_is_passed_over(probed, gscl_run, caplog):
    shutil.rmtree(probed / "model")
    shutil.copytree(gscl_run / "model", probed / "model")
    with pytest.raises(UsageError, match="has no probe of its model by protocol strict"):
        write_model_card(probed)
    assert "skipped the probe of ptbxl-super, which belongs to another model" in caplog.text
    assert not MarEcg.from_pretrained(probed).scores
