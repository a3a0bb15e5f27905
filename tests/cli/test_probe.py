import csv
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import wfdb
from tests.cli.calls import end, invoke, reached

from ecg_records.signal.leads import LEADS
from marecg.evaluate.methods.frozen_encoder import random_encoder
from marecg.model.config import ModelConfig
from marecg_cli._scores_text import plain_text, rich_table


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A run with a very small encoder, and a PTB-XL of thirty short records: flat ones and waves."""
    run, root = tmp_path_factory.mktemp("run"), tmp_path_factory.mktemp("ptbxl")
    config = ModelConfig(stride=50, positions=94, width=16, depth=1, heads=2, mlp_ratio=1, concept_width=8)
    random_encoder(config).save_pretrained(run / "model")
    header = ",description,diagnostic,form,rhythm,diagnostic_class,diagnostic_subclass"
    rows = ["NORM,normal,1.0,,,NORM,NORM", "IMI,infarction,1.0,,,MI,IMI"]
    (root / "scp_statements.csv").write_text("\n".join([header, *rows]))
    (root / "records500").mkdir()
    with (root / "ptbxl_database.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["ecg_id", "scp_codes", "strat_fold", "filename_hr"])
        for ecg_id in range(31):
            code = "NORM" if ecg_id % 3 else "IMI"
            table.writerow([ecg_id, {code: 0.0}, 1 + ecg_id // 3, f"records500/{ecg_id}"])
            if ecg_id < 30:
                _record(root / "records500", ecg_id, 0.1 if ecg_id % 3 else 1.0)
    return str(run), str(root)


def _record(folder: Path, ecg_id: int, height: float) -> None:
    noise_L = np.random.default_rng(ecg_id).normal(0, 0.01, 1000)
    lead_L = height * np.sin(np.arange(1000) / 20) + noise_L
    signal_LC = np.repeat(lead_L[:, None], 12, axis=1)
    wfdb.wrsamp(str(ecg_id), 500, ["mV"] * 12, list(LEADS), signal_LC, fmt=["16"] * 12, write_dir=str(folder))


@pytest.fixture(scope="module")
def probed(folders: tuple[str, str]) -> tuple[str, str]:
    """The run after a probe with all labels, and what the probe printed."""
    code, out, _ = invoke("probe", folders[0], "--root", folders[1], "--fraction", 1)
    assert code == 0
    return folders[0], out


def test_several_fractions_may_follow_one_option_and_json_goes_to_stdout(folders):
    run, root = folders
    _, out, err = invoke(
        "probe", run, "--root", root, "--fraction", "0.5,1", "--seeds", 2, "--format", "json"
    )
    report = json.loads(out)
    cells = [(cell["method"], cell["fraction"]) for cell in report["cells"][:2]]
    assert cells == [("encoder", 0.5), ("encoder", 1)]
    assert report["records"]["missing"] == ["30"]
    assert "labelled but not on disk (1): 30" in err


@pytest.mark.parametrize("words", ["--fraction 0.5,1", "--fraction 0.5 --fraction 1"])
def test_fractions_may_follow_one_option_or_each_its_own(folders, words):
    asked = reached(f"probe {folders[0]} --root {folders[1]} {words}", "marecg.evaluate.probes.probe_many")
    assert asked["request"].fractions == (0.5, 1)


def test_what_was_probed_goes_into_the_card(folders, tmp_path):
    run, root = folders
    shutil.copytree(run, tmp_path / "run")
    card = tmp_path / "run" / "model" / "README.md"
    code, _, err = invoke("probe", tmp_path / "run", "--root", root, "--fraction", 1, "--card")
    assert (code, f"card: {card}" in err) == (0, True)
    assert "## Results" in card.read_text(encoding="utf-8")


def test_the_table_shows_every_method_and_what_the_numbers_rest_on(probed):
    methods = ("encoder", "random encoder", "hand-crafted", "MI", "NORM")
    below = ("24 train, 3 val, 3 test", "strat_fold", "Scaling: signals in mV", "Seconds of fitting: encoder")
    for text in (*methods, *below):
        assert text in " ".join(probed[1].split())
    assert max(map(len, probed[1].splitlines())) <= 100


def test_the_table_prints_published_and_measured_rows(probed):
    run, _ = probed
    code, out, _ = invoke("table", run)
    assert (code, "| published | MERL " in out) == (0, True)
    assert f"| measured  | {Path(run).name}: encoder " in out
    assert "published" not in invoke("table", run, "--no-published", "--format", "csv")[1]
    code, out, _ = invoke("table", run, "--task", "ptbxl-super")
    assert (code, "CPSC2018" in out) == (0, False)
    assert end("table", run, "--task", "ptbxl")[1].startswith("error: no run was probed on ptbxl")


def test_two_runs_are_compared_on_the_same_records(probed):
    run, _ = probed
    compare = ("table", run, run, "--compare")
    code, out, err = invoke(*compare, "bootstrap")
    assert (code, out) == (0, f"ptbxl-super, minus {run}, 100 % of train: +0.00 [+0.00, +0.00], p = 1\n")
    few = "intervals and p are rough, because some classes have few positive test records: MI 1, NORM 1\n"
    assert err == few
    same = {"low": 0.0, "high": 0.0, "mean": 0.0, "p": 1.0}
    for test in ("bootstrap", "delong"):
        _, out, err = invoke(*compare, test, "--format", "json")
        assert json.loads(out) == [{"task": "ptbxl-super", "run": run, "other": run, "fraction": 1.0, **same}]
    assert "use --compare bootstrap" in err
    assert "needs at least two runs" in end("table", run, "--compare", "delong")[1]
    code, message = end("table", run, "elsewhere", "--compare", "delong")
    assert code == 3
    assert "share no task of protocol strict (" in message
    assert message.endswith("elsewhere: none). Probe all of them on the same task.")


@pytest.fixture
def features(tmp_path: Path) -> tuple[str, str]:
    """Somebody else's features of all records, as an option."""
    np.savez(tmp_path / "other.npz", ids=[str(i) for i in range(30)], features=np.eye(30))
    return "--features", f"ECG-FM={tmp_path / 'other.npz'}"


def test_features_from_a_file_stand_beside_the_encoder(folders, features):
    run, root = folders
    _, out, _ = invoke("probe", run, "--root", root, "--fraction", 1, *features)
    assert re.search(r"ECG-FM .*\n│ \(30\) ", out)


def test_features_are_judged_without_a_run_and_stand_in_the_table(folders, features, tmp_path):
    options = ("--root", folders[1], "--fraction", "0.5,1", "--seeds", "2", *features)
    code, line = end("probe", *options)
    assert (code, "--out" in line) == (2, True)
    code, out, _ = invoke("probe", *options, "--out", tmp_path / "ecg-fm")
    assert (code, "minus ECG-FM" in out) == (0, True)
    assert "It is not known which records the encoder was pretrained on" in out
    _, out, _ = invoke("table", tmp_path / "ecg-fm", "--no-published", "--intervals")
    assert "| PTB-XL super | measured | ecg-fm: ECG-FM |" in " ".join(out.split())


def test_several_runs_on_several_tasks_make_one_table(folders, tmp_path):
    run, root = folders
    other = tmp_path / "other"
    shutil.copytree(Path(run) / "model", other / "model")
    options = ("--task", "ptbxl-super", "--task", "ptbxl-sub", "--root", root, "--fraction", "1")
    code, out, _ = invoke("probe", run, other, *options)
    assert code == 0
    read = ("encoder", "encoder, wide", "encoder, mean H")
    own = [f"{name}: {row}" for name in (Path(run).name, "other") for row in read]
    rows = (*own, "random encoder", "hand-crafted")
    first = [line.split("│")[1].strip() for line in out.splitlines() if line.startswith("│ ")]
    assert [cell for cell in first if cell] == ["PTB-XL super, 3 test", *rows, "PTB-XL sub, 3 test", *rows]
    assert max(map(len, out.splitlines())) <= 100
    assert "▲" in out
    assert not (other / "features").exists()
    assert (other / "probe/ptbxl-sub-strict.json").exists()


@pytest.mark.parametrize(("other", "code", "missing"), [("ptbxl-super", 0, 1), ("ptbxl-rhythm", 3, 2)])
def test_a_task_that_the_records_cannot_support_is_a_line_and_the_others_go_on(folders, other, code, missing):
    run, root = folders
    tasks = ("--task", "ptbxl-form", "--task", other)
    ended, out, err = invoke("probe", run, *tasks, "--root", root, "--fraction", 1)
    assert (ended, f"{other}: macro AUC" in out, bool(out)) == (code, not code, not code)
    lines = [line for line in err.splitlines() if line.startswith("not probed: ")]
    problem = "must contain records of the task ptbxl-form, got none. Download records500 of PTB-XL."
    assert (lines[0], len(lines)) == (f"not probed: {root}: {problem}", missing)


def test_a_run_folder_named_like_a_share_is_a_run(folders, tmp_path, monkeypatch):
    shutil.copytree(Path(folders[0]) / "model", tmp_path / "0.1" / "model")
    monkeypatch.chdir(tmp_path)
    options = ("--task", "ptbxl-super", "--root", folders[1], "--fraction", "1", "0.1")
    code, out, err = invoke("probe", *options)
    assert (code, "measured: 0.1, ptbxl-super" in err, "10%" in out) == (0, True, False)


def test_an_encoder_that_saw_the_records_is_marked_in_text_json_and_table(folders, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(Path(folders[0]) / "model", run / "model")
    columns = {"identity": ["ptbxl/00028"], "patient": [None], "signal_hash": ["-"]}
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    pq.write_table(table.replace_schema_metadata({"window": "4700", "fs": "500"}), run / "trained_on.parquet")
    code, out, err = invoke("probe", run, "--root", folders[1], "--fraction", 1)
    assert code == 0
    assert "pretrained on 1 of the 3 val and 3 test records or on their patients: 28" in err
    assert "† Leak: the encoder was pretrained on 1 of" in out
    assert out.count("]†") == 3  # however it is read
    leak = json.loads((run / "probe/ptbxl-super-strict.json").read_text())["leak"]
    assert (leak["records"], leak["same_record"]) == (1, ["28"])
    _, out, _ = invoke("table", run, "--no-published")
    assert out.count("†") == 4
    assert "† The encoder was pretrained on val or test records" in out


def test_a_table_whose_words_need_more_than_a_hundred_columns_is_wider():
    heads = ("class", "records", "positives", *["sensitivity"] * 6, "ECE before")
    line = ["SBrad", "43", "4", *["91.9–100.0"] * 6, "0.036"]
    shown = plain_text([rich_table(heads, [line, line] * 5)])
    assert "…" not in shown
    assert {"sensitivity", "positives", "91.9–100.0"} <= set(shown.split())
