"""Small files are regular, of bounded size and depth, and hold possible numbers, or are refused."""

import os
from functools import partial

import pytest

from ecg_base import InputError
from ecg_records.errors import CorpusError
from ecg_records.storage.documents import JSON_BYTES, read_json, read_model, read_toml
from marecg.settings import Count, Frozen, Share


class Scores(Frozen):
    auc: Share
    records: Count
    slope: float = 1.0


def test_what_is_whole_is_read(tmp_path):
    (tmp_path / "a.json").write_text('{"auc": 0.5, "records": 3}')
    (tmp_path / "a.toml").write_text("[train]\nlr = 0.1\n")
    assert read_json(tmp_path / "a.json", "") == {"auc": 0.5, "records": 3}
    assert read_model(Scores, tmp_path / "a.json", "isn't scores", "") == Scores(auc=0.5, records=3)
    assert read_toml(tmp_path / "a.toml", "") == {"train": {"lr": 0.1}}


@pytest.mark.parametrize(
    ("read", "error"),
    [(partial(read_json, error=CorpusError), CorpusError), (read_toml, InputError)],
    ids=["json", "toml"],
)
@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (os.mkfifo, "isn't a file"),
        (lambda path: path.symlink_to("/dev/zero"), "isn't a file"),
        (lambda path: path.mkdir(), "isn't a file"),
        (lambda path: None, "is missing"),
        (
            lambda path: (path.touch(), os.truncate(path, JSON_BYTES + 1)),
            "must have at most 64 MB, got 65 MB",
        ),
        (lambda path: path.write_bytes(b"a = " * 3 + b"[" * 1_000_000), "is damaged|isn't TOML"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "is damaged|isn't UTF-8"),
    ],
    ids=["pipe", "device", "folder", "missing", "sparse", "nested", "no text"],
)
def test_anything_else_is_refused_in_one_line_with_what_to_do(tmp_path, read, error, make, problem):
    path = tmp_path / "a.file"
    make(path)
    with pytest.raises(error, match=rf"a\.file: ({problem}).*\. Prepare it again\.\Z") as caught:
        read(path, "Prepare it again")
    assert len(str(caught.value)) < 300


def test_a_million_brackets_are_too_deep(tmp_path):
    (tmp_path / "a.json").write_bytes(b"[" * 1_000_000)
    with pytest.raises(InputError, match=r"is damaged \(it nests too deeply\)"):
        read_json(tmp_path / "a.json", "")


@pytest.mark.parametrize(
    ("field", "value"),
    [("auc", "NaN"), ("auc", "Infinity"), ("auc", "-0.1"), ("auc", "2"), ("records", "-1"), ("slope", "NaN")],
)
def test_numbers_that_cannot_be_are_refused_where_they_are_read(tmp_path, field, value):
    numbers = {"auc": "0.5", "records": "3"} | {field: value}
    text = ", ".join(f'"{name}": {number}' for name, number in numbers.items())
    (tmp_path / "scores.json").write_text(f"{{{text}}}")
    with pytest.raises(InputError, match=rf"scores\.json: isn't scores \({field}\)\. Probe again\."):
        read_model(Scores, tmp_path / "scores.json", "isn't scores", "Probe again")
