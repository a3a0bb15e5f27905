"""Every command that takes ECGs or embeddings, with every kind of them, by every kind of model.

What a command says that it takes, it takes; anything else is one line that names it, and no file is left.
"""

import csv
import io
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.cli.calls import invoke, run

from marecg import EcgClassifier
from marecg.base.config import LEADS, ModelConfig
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.model.mar_ecg import MarEcg
from marecg.synth import write_corpus
from marecg.use.predict_table import ABOUT

RECORDS = 12
ECGS = ("record", "folder", "corpus", "array")
EMBEDDINGS = ("embedded.npz", "embedded.parquet", "parts")
MODELS = ("run", "run/model", "clf", "")
"""A run, a model, a classifier, and none named."""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve synthetic records in every kind, an encoder, a classifier, and embeddings in every kind."""
    lab = tmp_path_factory.mktemp("lab")
    write_corpus(lab / "folder", RECORDS, 0)
    prepare([lab / "folder"], lab / "corpus", jobs=1)
    corpus = Corpus.open(lab / "corpus")
    signals = corpus.signals(range(RECORDS))[:, :, :4000]
    np.save(lab / "array.npy", signals)
    np.save(lab / "one.npy", signals[0])
    torch.manual_seed(0)
    model = MarEcg(ModelConfig(width=16, depth=1, heads=2, mlp_ratio=1, concept_width=8))
    model.prototypes.copy_(torch.nn.functional.normalize(torch.randn(40, 8), dim=-1))
    model.save_pretrained(lab / "run" / "model")
    EcgClassifier(model).fit(signals, np.arange(RECORDS) % 2).save(lab / "clf")
    for name in EMBEDDINGS:
        out = f"{lab / name}/" if name == "parts" else lab / name
        assert invoke("embed", lab / "run", lab / "corpus", "--readout", "wide", "--out", out)[0] == 0
    with (lab / "labels.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["record", "odd", "split"])
        for number, record in enumerate(corpus.ids):
            table.writerow([record, number % 2, ("train", "train", "val", "test")[number // 2 % 4]])
    return lab


def given(lab: Path, kind: str) -> list[object]:
    """One kind of input on the command line, with what arrays need."""
    if kind == "record":
        return [sorted((lab / "folder").rglob("*.hea"))[0]]
    if kind in ("array", "one"):
        return [lab / f"{kind}.npy", "--fs", 500, "--set", "array.leads=" + ",".join(LEADS)]
    return [lab / kind]


def of_model(lab: Path, model: str) -> list[object]:
    return [lab / model] if model else []


Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Exit code, stdout and stderr of a command, as a terminal has them."""

    def invoked(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        return run(*words), *capsys.readouterr()

    return invoked


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", ECGS)
def test_embed_takes_every_kind_of_ecg(lab, kind, model, tmp_path, call):
    code, _, error = call("embed", *of_model(lab, model), *given(lab, kind), "--out", tmp_path / "e.npz")
    assert code == 0, error
    with np.load(tmp_path / "e.npz") as kept:
        assert len(kept["id"]) == (1 if kind == "record" else RECORDS)
    assert ("marecg-small" in error) == (not model)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", ["record", "one"])
def test_predict_takes_a_record_and_an_array_of_one(lab, kind, model, call):
    code, out, error = call("predict", *of_model(lab, model), *given(lab, kind), "--format", "json")
    assert code == 0, error
    assert (
        {"threshold", "called"} <= json.loads(out)[0].keys() if model == "clf" else json.loads(out)[0]["abbr"]
    )


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", ["folder", "corpus", "array"])
def test_predict_of_many_records_is_a_table_with_what_joins_them(lab, kind, model, call):
    code, out, error = call("predict", *of_model(lab, model), *given(lab, kind))
    assert code == 0, error
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == RECORDS
    corpus = Corpus.open(lab / "corpus")
    if kind != "array":
        assert {row["record"] for row in rows} == set(corpus.ids)
    shares = [float(value) for name, value in rows[0].items() if name not in (*ABOUT, "called")]
    assert sum(shares) == pytest.approx(1, abs=1e-3)
    assert ("called" in rows[0]) == (model == "clf")
    code, out, _ = call("predict", *of_model(lab, model), *given(lab, kind), "--format", "json")
    assert [row["id"] for row in json.loads(out)] == [row["id"] for row in rows]


@pytest.mark.parametrize("model", ["run", "clf"])
@pytest.mark.parametrize("kind", EMBEDDINGS)
def test_predict_refuses_embeddings(lab, kind, model, call):
    code, out, error = call("predict", lab / model, *given(lab, kind))
    assert (code, out) in ((2, ""), (3, ""))
    assert error.count("\n") == 1, error
    assert str(given(lab, kind)[0]) in error


@pytest.mark.parametrize("kind", EMBEDDINGS)
def test_neighbours_and_probe_take_every_kind_of_embeddings(lab, kind, tmp_path, call):
    record = Corpus.open(lab / "corpus").ids[0]
    code, out, error = call("neighbours", lab / kind, record, "--readout", "wide", "--format", "json")
    assert code == 0, error
    assert len(json.loads(out)) == RECORDS - 1
    task = ("--task", lab / "labels.csv", "--root", lab / "corpus", "--fraction", 1, "--out", tmp_path)
    code, out, error = call("probe", "--features", f"mine={lab / kind}", *task, "--format", "json")
    assert code == 0, error
    assert "mine" in {cell["method"] for cell in json.loads(out)["cells"]}


@pytest.mark.parametrize("kind", ECGS)
def test_neighbours_refuse_ecgs(lab, kind, call):
    code, out, error = call("neighbours", given(lab, kind)[0], "S00001")
    assert (code, out) in ((2, ""), (3, ""))
    assert error.count("\n") == 1, error


@pytest.mark.parametrize(
    ("command", "model"),
    [
        ("embed", "nowhere"),  # anything else in front of others is an input
        *product(("predict", "probe", "classify fit"), ("corpus", "folder", "parts", "nowhere")),
        *product(("export",), ("folder", "parts", "nowhere")),  # a corpus is exported, too
    ],
)
def test_what_is_no_model_is_named_and_nothing_is_written(lab, command, model, tmp_path, call):
    out = tmp_path / "out.npz"
    words = {
        "embed": ["embed", lab / model, lab / "corpus", "--out", out],
        "predict": ["predict", lab / model, given(lab, "record")[0]],
        "probe": [
            *("probe", lab / model, "--task", lab / "labels.csv", "--root", lab / "corpus"),
            *("--fraction", 1, "--out", out),
        ],
        "export": ["export", lab / model, "--out", tmp_path / "out.onnx"],
        "classify fit": ["classify", "fit", lab / model, "--data", lab / "corpus", "--out", out],
    }[command]
    code, _, error = call(*words)
    assert code in (2, 3), error
    assert str(lab / model) in error
    assert "Traceback" not in error
    assert not list(tmp_path.iterdir())
