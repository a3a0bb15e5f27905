"""The Python examples of the README and of the page on use run as they are written."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

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


def test_the_examples_on_fine_tuning_run_in_order(names, corpus_folder, capsys):
    pytest.importorskip("marecg_small")
    Path("corpus").symlink_to(corpus_folder.absolute())
    torch.manual_seed(0)
    told = names | {"labels": torch.from_numpy(names["labels"])}
    page = (ROOT / "docs/finetune.md").read_text(encoding="utf-8")
    for code in examples(page):
        exec(code, told)  # noqa: S102 (our own page)
    shapes = [list(each.shape) for each in (told["features"].rhythm, told["features"].wide)]
    assert shapes == [[RECORDS, 96], [RECORDS, 1596]]
    assert re.match(r"macro AUC \d\.\d\d over \d+ leaves\n", capsys.readouterr().out)


def test_the_example_of_the_card_runs(names):
    model = MarEcg.from_pretrained("run")
    (code,) = examples(str(model_card(model.config, model.ontology, None, gscl=False)))
    exec(code.replace("FOLDER OR HUB ID", "run"), names)  # noqa: S102 (our own card)
    assert names["embeddings"].rhythm.shape == (RECORDS, 16)
