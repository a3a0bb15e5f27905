"""The examples of docs/extending.md for judging an encoder, run as a user's own files."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from tests.cli.calls import end, invoke
from tests.extending.examples import example

from ecg_synth import write_corpus
from marecg.corpus.prepare import prepare
from marecg.evaluate.methods.frozen_encoder import random_encoder
from marecg.model.config import ModelConfig

FEW = ("--set", "without=encoder, wide;encoder, mean H;random encoder;hand-crafted")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, a corpus, and the files of the page."""
    folder = tmp_path_factory.mktemp("extending")
    write_corpus(folder / "wfdb", 60, 4)
    prepare([folder / "wfdb"], folder / "prepared", jobs=1)
    shape = ModelConfig(stride=50, positions=94, width=16, depth=1, heads=2, mlp_ratio=1, concept_width=8)
    model = random_encoder(shape, seed=3)
    model.prototypes.copy_(torch.randn(40, 8, generator=torch.Generator().manual_seed(0)))
    model.save_pretrained(folder / "run" / "model")
    for name in ("fast_hearts.py", "own_labels.py", "small_draws.py", "lead_ranges.py"):
        (folder / name).write_text(example(name), encoding="utf-8")
    return folder


def probed(place: Path, *options: str) -> tuple[dict[str, Any], str]:
    """What a probe prints as JSON, and what else it says."""
    code, out, err = invoke("probe", place / "run", "--fraction", 1, "--format", "json", *options)
    assert code == 0
    return json.loads(out), err


def test_a_task_in_a_file_of_ones_own_is_probed_by_its_own_root(place):
    task = f"{place / 'fast_hearts.py'}:FAST_HEARTS"
    report, _ = probed(place, "--task", task, "--root", f"fast-hearts={place / 'prepared'}", *FEW)
    assert (report["task"], report["classes"]) == ("fast-hearts", ["fast"])
    assert "zero-shot" in {cell["method"] for cell in report["cells"]}
    assert (place / "run/probe/fast-hearts-strict.json").exists()


def test_labels_of_ones_own_table_are_a_task_with_each_patient_on_one_side(place):
    rows = pq.read_table(place / "prepared" / "index.parquet").to_pylist()
    lines = [f"{row['path']},{int('426177001' in row['codes'])}" for row in rows]
    (place / "labels.csv").write_text("\n".join(["path,label", *lines, "gone.hea,1", ""]), encoding="utf-8")
    task = f"{place / 'own_labels.py'}:OWN_LABELS"
    report, err = probed(place, "--task", task, "--root", str(place / "prepared"), *FEW)
    assert (report["task"], report["classes"]) == ("own-labels", ["label"])
    assert "labelled but not on disk (1): gone.hea" in err


def test_a_protocol_and_a_baseline_of_ones_own_are_named_as_files(place):
    options = ("--task", f"{place / 'fast_hearts.py'}:FAST_HEARTS", "--root", str(place / "prepared"))
    protocol = f"{place / 'small_draws.py'}:SMALL_DRAWS"
    baseline = f"{place / 'lead_ranges.py'}:lead_ranges"
    report, _ = probed(place, *options, "--protocol", protocol, "--baseline", baseline, *FEW)
    assert report["protocol"] == "small-draws"
    assert {cell["method"]: cell["dimension"] for cell in report["cells"]}["lead ranges"] == 12
    assert {cell["records"] for cell in report["cells"] if cell["fraction"]} == {20}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere.py:TASK", "can't be run"),
        ("{place}/fast_hearts.py:SLOW", "has no SLOW"),
        ("{place}/small_draws.py:SMALL_DRAWS", "isn't a task"),
    ],
)
def test_a_file_that_holds_no_such_thing_is_one_clear_error(name, words, place):
    code, message = end("probe", place / "run", "--task", name.format(place=place), "--root", place)
    assert (code, words in message) == (2, True)
