"""Every command that takes ECGs or embeddings, with every kind of them, by every kind of model."""

import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.cli.calls import invoke

from ecg_records.signal.leads import LEADS
from marecg.corpus.prepared import Corpus
from marecg.use.predict import RECORD_COLUMNS

RECORDS = 8
ECGS = ("record", "records", "corpus", "array")
MODELS = ("run", "run/model", "clf", "")
"""A run, a model, a classifier, and none named."""


def given(place: Path, model: str, kind: str) -> list[object]:
    """A model and one kind of input on the command line, with what arrays need."""
    words: list[object] = [place / model] if model else []
    if kind == "record":
        return [*words, min((place / "records").rglob("*.hea"))]
    if kind in ("array", "one"):
        return [*words, place / f"{kind}.npy", "--fs", 500, "--set", "array.leads=" + ",".join(LEADS)]
    return [*words, place / kind]


def answer(*argv: object) -> str:
    """What a command prints that ends well."""
    code, out, err = invoke(*argv)
    assert code == 0, err
    return out


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", ECGS)
def test_embed_takes_every_kind_of_ecg(kinds, kind, model, tmp_path):
    code, _, error = invoke("embed", *given(kinds, model, kind), "--out", tmp_path / "e.npz")
    assert code == 0, error
    with np.load(tmp_path / "e.npz") as embedded:
        assert len(embedded["id"]) == (1 if kind == "record" else RECORDS)
    assert ("marecg-small" in error) == (not model)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", ["record", "one"])
def test_predict_takes_a_record_and_an_array_of_one(kinds, kind, model):
    first = json.loads(answer("predict", *given(kinds, model, kind), "--format", "json"))[0]
    assert {"threshold", "called"} <= first.keys() if model == "clf" else first["abbr"]


@pytest.mark.parametrize("kind", ["record", "one"])
def test_report_takes_a_record_and_an_array_of_one(kinds, kind, tmp_path):
    out = tmp_path / "page.html"
    assert answer("report", *given(kinds, "run", kind), "--out", out) == f"{out}\n"
    assert "<svg" in out.read_text(encoding="utf-8")


def test_a_class_may_be_called_as_what_a_row_says_of_its_record(kinds, tmp_path):
    about = shutil.copytree(kinds / "clf", tmp_path / "clf") / "classifier.json"
    card = json.loads(about.read_text())
    about.write_text(json.dumps(card | {"classes": ["start", *map(str, card["classes"][1:])]}))
    record = given(kinds, "", "record")
    before, after = (
        {each["name"]: each["probability"] for each in json.loads(answer("predict", *words))}
        for words in ((place / "clf", *record, "--format", "json") for place in (kinds, tmp_path))
    )
    assert (sorted(after.values()), "start" in after) == (sorted(before.values()), True)
    heads = answer("predict", tmp_path / "clf", *given(kinds, "", "records")).splitlines()[0].split(",")
    assert (len(set(heads)), "p start" in heads) == (len(heads), True)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", ["records", "corpus", "array"])
def test_predict_of_many_records_is_a_table_with_what_joins_them(kinds, kind, model):
    rows = list(csv.DictReader(io.StringIO(answer("predict", *given(kinds, model, kind)))))
    assert len(rows) == RECORDS
    if kind != "array":
        assert {row["record"] for row in rows} == set(Corpus.open(kinds / "corpus").ids)
    others = {*RECORD_COLUMNS, "called", "answers"}
    shares = [float(value) for name, value in rows[0].items() if name not in others]
    assert sum(shares) == pytest.approx(1, abs=1e-3)
    assert ("called" in rows[0]) == (model == "clf")


def test_predict_of_many_records_names_them_in_json_as_in_the_table(kinds):
    words = ("predict", *given(kinds, "clf", "array"))
    rows = csv.DictReader(io.StringIO(answer(*words)))
    assert [row["id"] for row in json.loads(answer(*words, "--format", "json"))] == [
        row["id"] for row in rows
    ]


@pytest.mark.parametrize("kind", ["embedded.npz", "embedded.parquet", "parts"])
def test_a_probe_takes_every_kind_of_embeddings(kinds, kind, tmp_path):
    task = ("--task", kinds / "labels.csv", "--root", kinds / "corpus", "--fraction", 1, "--out", tmp_path)
    out = answer("probe", "--features", f"mine={kinds / kind}", *task, "--format", "json")
    assert "mine" in {cell["method"] for cell in json.loads(out)["cells"]}
