"""`marecg embed` and `marecg predict`, as a user runs them."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
import wfdb

import ecg_ontology
from marecg.config import ModelConfig
from marecg.model.card import Provenance
from marecg.model.mar_ecg import MarEcg
from marecg.synth import write_corpus
from marecg.use.embed import embed
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


def test_a_record_that_is_named_twice_is_embedded_once(place: Path) -> None:
    header = sorted((place / "wfdb").rglob("*.hea"))[0]
    names = [str(header), str(header.with_suffix(".mat")), str(header.with_suffix(""))]
    assert run("embed", str(place / "run"), *names, "--out", str(place / "once.npz")) == 0
    with np.load(place / "once.npz") as file:
        assert file["id"].tolist() == [header.stem]


def test_an_array_and_a_record_land_in_one_parquet_file(place: Path) -> None:
    np.save(place / "some.npy", np.random.default_rng(0).normal(size=(2, 3, 2500)).astype(np.float32))
    header = str(sorted((place / "wfdb").rglob("*.hea"))[0])
    out = place / "both.parquet"
    arguments = [str(place / "some.npy"), header, "--fs", "250", "--leads", "I,II,V2", "--out", str(out)]
    assert run("embed", str(place / "run"), *arguments) == 0
    table = pq.read_table(out)
    assert table["id"].to_pylist()[:2] == ["some/0", "some/1"]
    assert np.stack(table["rhythm"].to_pylist()).shape == (3, 16)


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_patches_are_written_record_by_record(place: Path, ending: str) -> None:
    out = place / f"patches.{ending}"
    np.save(place / "long.npy", np.random.default_rng(0).normal(size=(2, 12, 5000)).astype(np.float32))
    np.save(place / "short.npy", np.random.default_rng(1).normal(size=(1, 12, 1000)).astype(np.float32))
    given = [str(place / name) for name in ("long.npy", "short.npy")]
    assert run("embed", str(place / "run"), *given, "--fs", "500", "--patch", "--out", str(out)) == 0
    if ending == "npz":
        with np.load(out) as file:
            counts, rows, rhythm = file["patches"], file["patch"], file["rhythm"]
        patches = np.split(rows, np.cumsum(counts)[:-1])
    else:
        table = pq.read_table(out)
        patches = [np.array(each) for each in table["patch"].to_pylist()]
        rhythm = np.array(table["rhythm"].to_pylist())
    model = MarEcg.from_pretrained(place / "run")
    expected = [embed(model, np.load(path), fs=500) for path in given]
    np.testing.assert_allclose(rhythm, np.concatenate([each.rhythm for each in expected]), atol=1e-5)
    for found, patch in zip(patches, [*expected[0].patch, *expected[1].patch], strict=True):
        np.testing.assert_allclose(found, patch, atol=1e-5)


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_the_wide_readout_stands_beside_h_rhythm(place: Path, ending: str) -> None:
    out = place / f"wide.{ending}"
    np.save(place / "given.npy", np.random.default_rng(0).normal(size=(2, 12, 5000)).astype(np.float32))
    options = ("--fs", "500", "--readout", "wide", "--out", str(out))
    assert run("embed", str(place / "run"), str(place / "given.npy"), *options) == 0
    if ending == "npz":
        with np.load(out) as file:
            assert sorted(file) == ["id", "rhythm", "wide"]
            rhythm, wide = file["rhythm"], file["wide"]
    else:
        table = pq.read_table(out)
        assert table.column_names == ["id", "rhythm", "wide"]
        rhythm, wide = (np.array(table[name].to_pylist()) for name in ("rhythm", "wide"))
    model = MarEcg.from_pretrained(place / "run")
    expected = embed(model, np.load(place / "given.npy"), fs=500, readout="wide")
    np.testing.assert_allclose(wide, expected.wide, atol=1e-5)
    np.testing.assert_allclose(rhythm, expected.rhythm, atol=1e-5)


def test_the_summary_as_json_and_a_bar_on_stderr_leave_stdout_to_machines(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(place / "summary.npz")
    assert run("embed", str(place / "run"), str(place / "wfdb"), "--out", out, "--format", "json") == 1
    summary = json.loads(capsys.readouterr().out)
    assert (summary["out"], summary["records"], len(summary["failed"])) == (out, 4, 1)
    with np.load(out) as file:
        assert file["id"].tolist() == summary["ids"]


def test_a_wfdb_record_of_two_leads_is_embedded_with_those(place: Path) -> None:
    header = sorted((place / "wfdb").rglob("*.hea"))[0]
    x = wfdb.rdrecord(str(header.with_suffix(""))).p_signal[:, [1, 6]]
    (place / "two").mkdir(exist_ok=True)
    wfdb.wrsamp("two", 500, ["mV", "mV"], ["II", "V1"], x, fmt=["16", "16"], write_dir=str(place / "two"))
    for number, given in enumerate([place / "two", place / "two" / "two"]):
        out = place / f"two{number}.npz"
        assert run("embed", str(place / "run"), str(given), "--out", str(out)) == 0
        again = wfdb.rdrecord(str(place / "two" / "two")).p_signal.T[None]
        model = MarEcg.from_pretrained(place / "run")
        with np.load(out) as file:
            expected = embed(model, again, fs=500, leads=["II", "V1"]).rhythm
            np.testing.assert_allclose(file["rhythm"], expected, atol=1e-4)


def test_a_bad_row_of_an_array_is_named_and_the_others_are_embedded(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.random.default_rng(0).normal(size=(3, 12, 2500)).astype(np.float32)
    x[1, 0, 0] = np.nan
    np.save(place / "holes.npy", x)
    arguments = [str(place / "holes.npy"), "--fs", "250", "--out", str(place / "holes.npz")]
    assert run("embed", str(place / "run"), *arguments) == 1
    assert "holes.npy#1: signals hold NaN" in capsys.readouterr().err
    with np.load(place / "holes.npz") as file:
        assert file["id"].tolist() == ["holes/0", "holes/2"]


def test_units_that_are_no_millivolts_are_embedded_and_doubted_in_a_line(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.random.default_rng(0).normal(scale=300, size=(9, 12, 2500)).astype(np.int16)
    np.save(place / "adc.npy", x)
    arguments = [str(place / "adc.npy"), "--fs", "250", "--out", str(place / "adc.npz")]
    assert run("embed", str(place / "run"), *arguments) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("check the units")]
    assert len(told) == 6
    assert "microvolts" in told[0]
    assert "4 more" in told[-1]
    assert run("embed", str(place / "run"), *arguments, "--units", "uV") == 0
    assert "check the units" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["{place}/some.npy", "--out", "{place}/x.npz"], 2, "--fs"),
        (["{place}/some.npy", "--fs", "0", "--out", "{place}/x.npz"], 2, "no sampling rate"),
        (["{place}/some.npy", "--fs", "-500", "--out", "{place}/x.npz"], 2, "no sampling rate"),
        (["{place}/some.npy", "--fs", "500", "--leads", "I,X", "--out", "{place}/x.npz"], 2, "unknown ['X']"),
        (["{place}/some.npy", "--fs", "500", "--leads", "I,II", "--out", "{place}/x.npz"], 2, "2 leads"),
        (["{place}/text.npy", "--fs", "500", "--out", "{place}/x.npz"], 3, "can't be read as .npy"),
        (["{place}/none.npy", "--fs", "500", "--out", "{place}/x.npz"], 3, "no record in it"),
        (["{place}/some.npy", "--fs", "49", "--out", "{place}/x.npz"], 3, "no sampling rate of an ECG"),
        (["{place}/brief.npy", "--fs", "500", "--out", "{place}/x.npz"], 3, "less than one patch"),
        (["{place}/pickled.npy", "--fs", "500", "--out", "{place}/x.npz"], 3, "can't be read as .npy"),
        (["{place}/imaginary.npy", "--fs", "500", "--out", "{place}/x.npz"], 2, "no numbers"),
        (["{place}/absent.npy", "--fs", "500", "--out", "{place}/x.npz"], 3, "is not there"),
        (["{place}/wfdb", "--out", "{place}/x.csv"], 2, "can't write .csv"),
        (["{place}/nowhere", "--out", "{place}/x.npz"], 3, "not one record"),
        (["{place}/empty", "--out", "{place}/x.npz"], 3, "no WFDB header"),
    ],
)
def test_bad_requests_are_one_line_and_leave_nothing(
    place: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, problem: str
) -> None:
    np.save(place / "some.npy", np.zeros((1, 12, 2500), np.float32))
    np.save(place / "none.npy", np.zeros((0, 12, 2500), np.float32))
    np.save(place / "brief.npy", np.zeros((1, 12, 49), np.float32))
    np.save(place / "pickled.npy", np.array([{}], object), allow_pickle=True)
    np.save(place / "imaginary.npy", np.zeros((1, 12, 2500), complex))
    (place / "text.npy").write_text("no array")
    (place / "empty").mkdir(exist_ok=True)
    assert run("embed", str(place / "run"), *(argument.format(place=place) for argument in arguments)) == code
    message = capsys.readouterr().err
    assert problem in message
    assert [line.partition(":")[0] for line in message.splitlines() if "record/s" not in line] == ["error"]
    assert not list(place.glob("*x.*"))


@pytest.mark.parametrize(
    ("command", "where"), [("embed", "nowhere"), ("predict", "nowhere"), ("predict", "empty")]
)
def test_a_model_that_is_not_there_is_one_clear_error(
    place: Path, capsys: pytest.CaptureFixture[str], command: str, where: str
) -> None:
    (place / "empty").mkdir(exist_ok=True)
    header = next((place / "wfdb").rglob("*.hea"))
    out = ("--out", str(place / "y.npz")) if command == "embed" else ()
    assert run(command, str(place / where), str(header), *out) == 3
    assert str(place / where) in capsys.readouterr().err


def test_a_run_and_the_model_in_it_are_the_same_to_every_command(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = str(sorted((place / "wfdb").rglob("*.hea"))[0])
    said = []
    for given in (place / "run", place / "run" / "model"):
        assert run("predict", str(given), header, "--format", "json") == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]


def test_a_prediction_takes_an_array_of_one_record_and_no_more(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(place / "one.npy", np.random.default_rng(0).normal(size=(2500, 2)).astype(np.float32))
    options = ["--fs", "250", "--leads", "II,V1"]
    assert run("predict", str(place / "run"), str(place / "one.npy"), *options) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5
    assert run("predict", str(place / "run"), str(place / "wfdb")) == 2
    assert "holds 5 records" in capsys.readouterr().err


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
        near = [neighbour["index"] for neighbour in concept["neighbours"]]
        assert sorted(near) == np.flatnonzero(onto.adjacency[concept["index"]]).tolist()
        shares = [neighbour["probability"] for neighbour in concept["neighbours"]]
        assert shares == sorted(shares, reverse=True)
    by_name = {concept["abbr"]: concept for concept in found}
    assert set(by_name["AntMI"]) == {
        "index", "abbr", "label", "probability", "neighbours", "support"
    }  # fmt: skip
    beside = {each["abbr"]: each for each in by_name["AntMI"]["neighbours"]}
    assert beside["AMI"] == {
        "index": onto.node("AMI").index,
        "abbr": "AMI",
        "label": "Acute myocardial infarction",
        "relation": "subtype of",
        "probability": by_name["AMI"]["probability"],
    }
    assert {name: each["relation"] for name, each in beside.items()} == {
        "AMI": "subtype of", "OMI": "subtype of", "InfMI": "sibling", "Ischemic": "family"
    }  # fmt: skip
    towards = {each["abbr"]: each["relation"] for each in by_name["AMI"]["neighbours"]}
    assert (towards["AntMI"], towards["Ischemic"]) == ("subtype", "family")


def test_a_prediction_is_a_line_per_concept_with_its_share_its_name_and_what_is_beside_it(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = str(sorted((place / "wfdb").rglob("*.hea"))[0])
    assert run("predict", str(place / "run"), header, "--top", "40") == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert len(lines) == 40
    (anterior,) = [line for line in lines if "Anterior MI (AntMI)" in line]
    assert re.match(r" +\d+\.\d%  Anterior MI \(AntMI\) +(\w[\w ]* \d+\.\d%( · )?){4}$", anterior)
    (rhythm,) = [line for line in lines if re.search("%  Rhythm ", line)]
    assert rhythm.endswith(" · 7 more")
    assert "no diagnosis" in shown.err


def test_a_concept_that_no_record_of_the_training_bore_is_named_as_such(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = MarEcg.from_pretrained(place / "run")
    model.provenance = Provenance(
        recipe="micro", steps=1, records=9, sources={}, support={"AF": 0, "AFL": 3, "NSR": 6}
    )
    model.save_pretrained(place / "known" / "model")
    header = str(sorted((place / "wfdb").rglob("*.hea"))[0])
    assert run("predict", str(place / "known"), header, "--top", "40") == 0
    lines = capsys.readouterr().out.splitlines()
    marked = [line for line in lines if line.endswith("(no record of it in the training)")]
    assert len(marked) == 1
    assert "(AF) " in marked[0]


def test_of_many_records_that_can_not_be_read_five_are_named_and_the_others_counted(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_corpus(tmp_path / "wfdb", 8, 0)
    for path in sorted((tmp_path / "wfdb").rglob("*.mat"))[1:]:
        path.unlink()
    assert run("embed", str(place / "run"), str(tmp_path / "wfdb"), "--out", str(tmp_path / "e.npz")) == 1
    told = [line for line in capsys.readouterr().err.splitlines() if "not embedded: " in line]
    assert len(told) == 6
    assert told[5] == "not embedded: 2 more; --format json names all"


def test_a_prediction_of_a_bad_record_is_one_line_and_of_wrong_units_has_a_warning(
    place: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    x = np.random.default_rng(0).normal(scale=300, size=(12, 2500)).astype(np.float32)
    np.save(place / "micro.npy", x)
    assert run("predict", str(place / "run"), str(place / "micro.npy"), "--fs", "250") == 0
    assert "microvolts" in caplog.text
    x[3, 7] = np.nan
    np.save(place / "hole.npy", x)
    capsys.readouterr()
    assert run("predict", str(place / "run"), str(place / "hole.npy"), "--fs", "250") == 3
    assert capsys.readouterr().err.startswith(f"error: {place / 'hole.npy'}: signals hold NaN")


def test_a_run_without_gscl_predicts_nothing(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("predict", str(place / "mute"), str(sorted((place / "wfdb").rglob("*.hea"))[0])) == 2
    assert "without GSCL" in capsys.readouterr().err


def test_an_export_prints_its_parity_and_another_ending_is_refused(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(place / "encoder.pt2")
    assert run("export", str(place / "run"), "--to", "torch", "--out", out) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{out}: ")
    assert "(≤ 0.0001)" in shown
    assert run("export", str(place / "run"), "--to", "torch", "--out", str(place / "encoder.onnx")) == 2
    assert "Change the file's ending" in capsys.readouterr().err


def test_a_folder_is_filled_by_shards_and_tells_what_failed(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "parts"
    command = ("embed", str(place / "run"), str(place / "wfdb"), "--out", f"{out}/", "--part-records", "2")
    codes = [run(*command, "--shard", f"{number}/2", "--format", "json") for number in (1, 2)]
    shown = capsys.readouterr()
    assert codes == [1, 0]
    assert shown.err.count("not embedded: ") == 1
    assert pq.read_table(out).num_rows == 4
    assert run(*command) == 1
    assert f"4 records in {out}/" in capsys.readouterr().out
    assert run("neighbours", str(out), "wfdb/S00001", "--top", "2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all(re.fullmatch(r" \d\.\d{4}  wfdb/S0000\d( +\d{6,})+", line.replace("-", "")) for line in lines)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--out", "all.npz", "--shard", "1/2"), "are for a folder of parts. End --out in / to write one"),
        (("--out", "parts/", "--shard", "3/2"), "3/2 is no shard"),
        (("--out", "all.csv"), "Use .npz or .parquet, or end a folder's name in /"),
        (("--out", "s4://bucket/parts"), "is no address"),
    ],
)
def test_where_embeddings_can_not_go_is_one_line(
    place: Path, options: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("embed", str(place / "run"), str(place / "wfdb"), *options) == 2
    assert problem in capsys.readouterr().err
