"""`marecg data list` and `get` as a user types them."""

import hashlib
import json
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest
from tests.cli.calls import invoke as run

from ecg_synth import write_corpus
from marecg.corpus.prepare import prepare

Quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
"""A file server that says nothing."""


@pytest.fixture
def mirror(tmp_path: Path, serve: Callable[..., str]) -> str:
    """Two synthetic records under `training/georgia`, with their checksums."""
    root = tmp_path / "mirror"
    write_corpus(root / "training" / "georgia" / "g1", 2, 0)
    files = [path for path in root.rglob("*") if path.is_file()]
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.relative_to(root)}" for path in files]
    (root / "SHA256SUMS.txt").write_text("\n".join(lines) + "\n")
    return serve(partial(Quiet, directory=str(root)))


def test_a_dataset_is_fetched_prepared_and_counted_by_its_name(mirror, tmp_path):
    code, out, _ = run("data", "get", "georgia", "--out", tmp_path / "data", "--mirror", mirror)
    assert (code, out.strip()) == (0, str(tmp_path / "data" / "georgia"))
    report = prepare([tmp_path / "data"], tmp_path / "corpus", jobs=1)
    assert report.sources["georgia"].found == 2
    _, out, _ = run("data", "list", "--root", tmp_path / "data", "--format", "json")
    here = {row["name"]: row["on_disk"] for row in json.loads(out) if row["on_disk"]}
    assert here == {"cinc2021": 2, "georgia": 2}


def test_every_dataset_is_listed_with_its_licence_and_address():
    _, out, _ = run("data", "list")
    assert "code-15: CODE-15 %, 400 Hz, HDF5" in out
    assert "345,779 records; six diagnoses; CC BY 4.0" in out
    assert "800,035 records, 90.4 GB; no codes, for pretraining only; ODbL 1.0" in out
    rows = json.loads(run("data", "list", "--format", "json")[1])
    assert all(row["home"].startswith("http") and row["records"] for row in rows)
