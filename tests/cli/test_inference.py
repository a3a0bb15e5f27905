"""`marecg embed` and `marecg predict`, as a user runs them."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

import ecg_ontology
from marecg.config import ModelConfig
from marecg.data.synth import write_corpus
from marecg.model import MarEcg
from marecg_cli.marecg import main


def run(*argv: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(argv))
    return int(end.value.code or 0)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that knows concepts, one that knows none, and five records, one of them without its signal."""
    folder = tmp_path_factory.mktemp("place")
    torch.manual_seed(0)
    model = MarEcg(
        ModelConfig(stride=50, positions=94, width=16, depth=1, heads=2, mlp_ratio=2, concept_width=8)
    )
    model.save_pretrained(folder / "mute" / "model")
    model.prototypes.copy_(torch.nn.functional.normalize(torch.randn(40, 8), dim=-1))
    model.save_pretrained(folder / "run" / "model")
    write_corpus(folder / "wfdb", 5, 0)
    sorted((folder / "wfdb").rglob("*.mat"))[-1].unlink()
    return folder


def test_a_folder_is_embedded_record_by_record_and_what_failed_is_named(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("embed", str(place / "run"), str(place / "wfdb"), "--out", str(place / "folder.npz")) == 1
    shown = capsys.readouterr()
    assert "4 records" in shown.out
    assert shown.err.count("not embedded: ") == 1
    with np.load(place / "folder.npz") as file:
        assert file["rhythm"].shape == (4, 16)
        assert len(set(file["id"])) == 4
        assert np.isfinite(file["rhythm"]).all()


def test_an_array_and_a_record_land_in_one_parquet_file(place: Path) -> None:
    np.save(place / "some.npy", np.random.default_rng(0).normal(size=(2, 3, 2500)).astype(np.float32))
    header = str(sorted((place / "wfdb").rglob("*.hea"))[0])
    out = place / "both.parquet"
    arguments = [str(place / "some.npy"), header, "--fs", "250", "--leads", "I,II,V2", "--out", str(out)]
    assert run("embed", str(place / "run"), *arguments) == 0
    table = pq.read_table(out)
    assert table["id"].to_pylist()[:2] == ["some/0", "some/1"]
    assert np.stack(table["rhythm"].to_pylist()).shape == (3, 16)


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["{place}/some.npy", "--out", "{place}/x.npz"], 2, "--fs"),
        (["{place}/wfdb", "--out", "{place}/x.csv"], 2, "can't write .csv"),
        (["{place}/nowhere", "--out", "{place}/x.npz"], 3, "not one record"),
    ],
)
def test_bad_requests_are_one_line_and_leave_nothing(
    place: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, problem: str
) -> None:
    np.save(place / "some.npy", np.zeros((1, 12, 2500), np.float32))
    assert run("embed", str(place / "run"), *(argument.format(place=place) for argument in arguments)) == code
    message = capsys.readouterr().err
    assert problem in message
    assert message.count("\n") == 1
    assert not list(place.glob("*x.*"))


def test_a_prediction_names_concepts_with_their_neighbours(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = str(sorted((place / "wfdb").rglob("*.hea"))[0])
    assert run("predict", str(place / "run"), header, "--top", "40", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert sum(concept["probability"] for concept in found) == pytest.approx(1, abs=1e-5)
    assert [c["probability"] for c in found] == sorted((c["probability"] for c in found), reverse=True)
    onto = ecg_ontology.load()
    for concept in found:
        near = {onto.nodes[i].abbr for i in np.flatnonzero(onto.adjacency[concept["index"]])}
        assert {neighbour["abbr"] for neighbour in concept["neighbours"]} == near
    assert run("predict", str(place / "run"), header) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_a_run_without_gscl_predicts_nothing(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("predict", str(place / "mute"), str(sorted((place / "wfdb").rglob("*.hea"))[0])) == 2
    assert "without GSCL" in capsys.readouterr().err
