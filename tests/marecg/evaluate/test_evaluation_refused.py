"""What can't be judged is refused, or named in the report and left out."""

from pathlib import Path

import pytest
from tests.marecg.evaluate.made_tasks import ALONE, probed

from marecg.errors import CheckpointError, InputError, UsageError
from marecg.evaluate.methods import frozen_encoder
from marecg.evaluate.methods.resnet1d import resnet1d
from marecg.evaluate.probe.merl import MERL
from marecg.evaluate.request import Request, baseline_named, protocol_named
from marecg.evaluate.tasks.registry import task_named


def test_a_class_without_negatives_in_test_is_named_and_left_out(run_folder, ptbxl_copy):
    table = ptbxl_copy / "ptbxl_database.csv"
    rows = table.read_text().splitlines()
    fold_10 = [row.replace("'1AVB'", "'NORM'") if row.split(",")[-2] == "10" else row for row in rows]
    table.write_text("\n".join(fold_10))
    cell = probed(run_folder, "ptbxl-super", ptbxl_copy, ALONE).cells[0]
    assert cell.left_out == ("CD",)
    assert [(score.name, score.support) for score in cell.classes] == [("MI", 2), ("NORM", 4), ("STTC", 2)]
    assert cell.macro_auc.mean == pytest.approx(sum(score.auc.mean for score in cell.classes) / 3)


def test_an_unusable_record_is_named_with_its_reason_and_takes_no_part(run_folder, ptbxl_copy):
    signal = ptbxl_copy / "records500/00000/00001_hr.dat"
    signal.write_bytes(signal.read_bytes()[:1000])
    records = probed(run_folder, "ptbxl-super", ptbxl_copy, ALONE).records
    assert records.unreadable == {"1": "truncated"}
    assert records.train == 47


@pytest.mark.parametrize(
    ("values", "words"),
    [
        *(({"fractions": fractions}, "fraction") for fractions in ((0.0,), (1.5,), (float("nan"),), ())),
        ({"seeds": 0}, "seeds must be at least 1, got 0"),
        ({"resamples": 0}, "resamples must be at least 1, got 0"),
        ({"readout": "all"}, "unknown readout 'all'"),
        ({"protocol": MERL, "baselines": (resnet1d,)}, "protocol merl.*Leave out --baseline"),
    ],
)
def test_an_impossible_request_is_refused(values, words):
    with pytest.raises(UsageError, match=words):
        Request(**values)


def test_what_does_not_exist_is_refused_by_its_name(ptbxl_root, tmp_path):
    with pytest.raises(UsageError, match="strict, merl"):
        protocol_named("loose")
    with pytest.raises(UsageError, match="rocket"):
        baseline_named("rocket")
    with pytest.raises(UsageError, match=r"ptbxl-super.*corpus"):
        task_named("ptbxl-all").open(ptbxl_root)
    with pytest.raises(CheckpointError, match="model"):
        probed(tmp_path, "ptbxl-super", ptbxl_root)


@pytest.mark.parametrize("name", ["encoder", "encoder, wide", "encoder, mean H", "zero-shot"])
def test_features_under_a_name_that_is_taken_are_refused(name, run_folder, ptbxl_root, tmp_path):
    with pytest.raises(UsageError, match="is already used"):
        probed(run_folder, "ptbxl-super", ptbxl_root, features={name: tmp_path / "f.npz"})


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "a run or features must be given, got neither"),
        ({"x": Path("x.npz")}, "must name a folder for the report"),
    ],
)
def test_without_a_run_features_and_a_place_are_needed(files, words, ptbxl_root):
    with pytest.raises(UsageError, match=words):
        probed(None, "ptbxl-super", ptbxl_root, features=files)


def test_a_test_part_that_tells_nothing_apart_is_named_in_one_line(run_folder, ptbxl_copy):
    statements = ptbxl_copy / "scp_statements.csv"
    head, *rows = statements.read_text().splitlines()
    statements.write_text("\n".join([head, *(row for row in rows if row.startswith("SR"))]))
    with pytest.raises(InputError, match="positives and negatives among the 6 test records, got none"):
        probed(run_folder, "ptbxl-rhythm", ptbxl_copy, ALONE)


@pytest.mark.parametrize("tensor", ["prototypes", "pool.query"])
def test_an_encoder_that_changes_is_refused(tensor, run_folder, ptbxl_root, tmp_path, monkeypatch):
    """A single value of a buffer, or of a parameter, moves in the last batch."""
    original = frozen_encoder.embed

    def restless(model, *rest, **options):
        model.state_dict()[tensor].view(-1)[0].add_(1e-3)
        return original(model, *rest, **options)

    monkeypatch.setattr(frozen_encoder, "embed", restless)
    with pytest.raises(CheckpointError, match="the encoder changed while it was probed"):
        probed(run_folder, "ptbxl-super", ptbxl_root, ALONE, out=tmp_path)
    assert not list(tmp_path.rglob("*.*"))
