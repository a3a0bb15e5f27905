"""The Python examples of the README and of the page on use run as they are written."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecg_synth import write_corpus
from marecg.corpus.prepare import prepare
from marecg.model.card import model_card
from marecg.model.mar_ecg import MarEcg

ROOT = Path(__file__).parents[2]
RECORDS = 12


def examples(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.fixture
def names(micro, tmp_path, monkeypatch):
    """What the examples take for granted: a run, records of four leads, and labels."""
    MarEcg(micro.model).save_pretrained(tmp_path / "run" / "model")
    monkeypatch.chdir(tmp_path)
    signals = np.random.default_rng(0).normal(size=(RECORDS, 4, 3500))
    return {"signals": signals, "labels": np.arange(RECORDS) % 2}


FIRST = ["README.md", "docs/index.md", "docs/start/embed.md", "docs/start/compare.md"]


@pytest.mark.parametrize("page", [*FIRST, "packages/marecg-small/README.md"])
def test_the_examples_of_a_first_page_run_as_they_stand(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code in examples((ROOT / page).read_text(encoding="utf-8")):
        exec(code, names)  # noqa: S102 (our own page)
        out = capsys.readouterr().out
        for printed in re.findall(r"^print\(.*  # (.*)$", code, re.MULTILINE):
            assert printed in out


@pytest.mark.parametrize("page", ["packages/marecg-model/README.md", "docs/use.md"])
def test_the_examples_of_a_page_run_in_order(page, names):
    pieces = examples((ROOT / page).read_text(encoding="utf-8"))
    codes = [code for code in pieces if "onnx" not in code and "ecg_ontology" not in code]
    assert codes
    for code in codes:
        exec(code, names)  # noqa: S102 (our own page)
    shape = names["model"].config
    assert names["embeddings"].rhythm.shape == (RECORDS, shape.width)
    assert names["embeddings"].patch.shape == (RECORDS, shape.patches(3500), shape.width)


@pytest.mark.slow
def test_the_page_on_fine_tuning_is_one_script(tmp_path):
    pytest.importorskip("marecg_small")
    write_corpus(tmp_path / "wfdb", 40, 0, diagnoses=("AF", "SBrad"))
    prepare([tmp_path / "wfdb"], tmp_path / "corpus", jobs=1)
    (tmp_path / "page.py").write_text("\n".join(examples((ROOT / "docs/finetune.md").read_text("utf-8"))))
    done = subprocess.run(
        [sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    shapes, *epochs, last = done.stdout.splitlines()
    assert shapes == "torch.Size([4, 96]) torch.Size([4, 1596])"
    assert [line.partition(":")[0] for line in epochs] == ["epoch 0", "epoch 1"]
    assert re.match(r"macro AUC \d\.\d\d over \d+ leaves", last)
    assert {path.name for path in (tmp_path / "finetuned").iterdir()} >= {"head.safetensors", "model"}


def test_the_example_of_the_card_runs(names):
    model = MarEcg.from_pretrained("run")
    (code,) = examples(str(model_card(model.config, model.ontology, None, gscl=False)))
    exec(code.replace("FOLDER OR HUB ID", "run"), names)  # noqa: S102 (our own card)
    assert names["embeddings"].rhythm.shape == (RECORDS, 16)
