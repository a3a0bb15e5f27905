"""Fine-tuning as a protocol: its rows, its draws, and a model that stays as it is."""

import pytest
from tests.cli.calls import run

from marecg.classify import finetune as module
from marecg.classify.finetune import finetune
from marecg.classify.tuning import Tuning
from marecg.errors import OutputError, UsageError
from marecg.evaluate.scores.results import Leak
from marecg.evaluate.table import lines, measured
from marecg.model.mar_ecg import MarEcg
from marecg.model.readout import readout_width


def test_each_of_the_layers_has_a_row_in_report_and_table(run_folder, ptbxl_root):
    before = (run_folder / "model" / "model.safetensors").read_bytes()
    how = [Tuning(layers, steps=2) for layers in ("head", "all")]
    report = finetune(run_folder, "ptbxl-super", ptbxl_root, how, fractions=(0.5, 1.0), seeds=2)
    assert report.protocol == "finetune"
    cells = {(cell.method, cell.fraction): cell for cell in report.cells}
    head, whole = "encoder, fine-tuned (head)", "encoder, fine-tuned (all)"
    assert set(cells) == {(name, share) for name in (head, whole) for share in (0.5, 1.0)}
    assert [cells[head, share].seeds for share in (0.5, 1.0)] == [2, 1]
    assert cells[head, 0.5].records < cells[head, 1.0].records == report.records.train
    assert all(0 <= step <= 2 for cell in report.cells for step in cell.chosen)
    assert cells[whole, 1.0].versus_encoder is not None
    assert cells[head, 1.0].dimension == readout_width(MarEcg.from_pretrained(run_folder).config)
    rows = measured([run_folder], "finetune")
    assert set(rows["method"]) == {head, whole}
    leak = Leak(records=3, same_record=("1", "2", "3"), same_patient=(), same_signal=())
    marked = lines("tiny", report.model_copy(update={"leak": leak}))
    assert [line["leaked_records"] for line in marked] == [3] * 4
    assert (run_folder / "model" / "model.safetensors").read_bytes() == before


def test_the_command_prints_its_rows(run_folder, ptbxl_root, capsys):
    words = ("probe", run_folder, "--protocol", "finetune", "--root", ptbxl_root)
    assert run(*words, "--set", "finetune.steps=1", "--set", "finetune.layers=last:1;head") == 0
    out = capsys.readouterr().out
    assert ("fine-tuned (last:1)" in out, "fine-tuned (head)" in out) == (True, True)


@pytest.mark.parametrize(
    "options",
    [
        "--protocol finetune --card",
        "--protocol finetune --baseline resnet1d",
        "--protocol finetune --set readout=wide",
        "--set finetune.steps=3",
    ],
)
def test_options_that_fine_tuning_or_probing_does_not_read_are_refused(run_folder, ptbxl_root, options):
    assert run("probe", run_folder, "--root", ptbxl_root, *options.split()) == 2


def test_a_report_without_a_place_is_refused_before_training(run_folder, ptbxl_root, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(module, "tune", lambda *_: pytest.fail("hours are spent"))
    with pytest.raises(OutputError, match="probe: cannot be written"):
        finetune(run_folder, "ptbxl-super", ptbxl_root, [Tuning()], out=tmp_path / "file")


def test_training_that_diverges_is_one_clear_error(run_folder, ptbxl_root, tmp_path):
    how = [Tuning("all", steps=2, lr=1e30)]
    with pytest.raises(UsageError, match=r"lr: fine-tuning \(all\) gives values that are not finite"):
        finetune(run_folder, "ptbxl-super", ptbxl_root, how, fractions=(1.0,), out=tmp_path)
    assert not list(tmp_path.rglob("*.json"))


def test_layers_that_are_not_there_are_refused_before_anything_is_read():
    with pytest.raises(UsageError, match="unknown layers 'tail'"):
        Tuning("tail")
    with pytest.raises(UsageError, match="lr must be a number above 0, got inf"):
        Tuning("all", lr=float("inf"))
    words = ("probe", "marecg-small", "--root", ".", "--protocol", "finetune")
    assert run(*words, "--set", "finetune.layers=tail") == 2
