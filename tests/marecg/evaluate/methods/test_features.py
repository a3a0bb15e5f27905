import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests import forked

from marecg.embedding.processes import SMALL
from marecg.errors import CheckpointError, CorpusError, InputError, RecordError
from marecg.evaluate.methods import features as module
from marecg.evaluate.methods.features import BLOCK_ROWS, extract
from marecg.evaluate.methods.frozen_encoder import encoder, random_encoder
from marecg.evaluate.methods.handcrafted import handcrafted
from marecg.evaluate.methods.method import Method
from marecg.evaluate.tasks.task import Recordings
from marecg.model.config import ModelConfig

TINY = ModelConfig(stride=50, positions=94, width=16, depth=1, heads=2, mlp_ratio=1, concept_width=8)


class Source:
    """Recordings of constant signals that count their reads; record 5 is damaged, record 6 holds NaN."""

    def __init__(self, sha256: str = "a" * 64, records: int = 40) -> None:
        self.reads = 0
        self.recordings = Recordings(
            "made", tuple(f"r{i}" for i in range(records)), sha256, "all of it", self.read
        )

    def read(self, row: int) -> np.ndarray:
        self.reads += 1
        if row == 5:
            raise RecordError("truncated", "is cut short", where="r5.dat")
        return np.full((12, 10), np.nan if row == 6 else row, np.float32)


def mean(sha256: str = "b" * 64) -> Method:
    return Method("mean of all", sha256, lambda signals: np.array([[x.mean(), 1.0] for x in signals]))


def test_every_recording_has_its_own_features_and_the_unreadable_have_a_reason(tmp_path):
    source, other = Source(), Method("other", "c" * 64, mean().compute)
    features = extract(source.recordings, [mean(), other], tmp_path)["mean of all"]
    assert features.unreadable == {"r5": "truncated", "r6": "nan"}
    expected = np.arange(40.0)
    expected[[5, 6]] = np.nan
    np.testing.assert_array_equal(features.x_RF[:, 0], expected)
    assert source.reads == 40, "two methods share one pass"


class Beats(Source):
    """The same with a beat a second of a height of its own in each recording."""

    def read(self, row: int) -> np.ndarray:
        x_CL = super().read(row).repeat(500, axis=1) / 40
        x_CL[:, 250::500] += 1
        return x_CL


def process(*, apart: bool) -> Method:
    name = "processes" if apart else "process"
    pid = lambda signals: np.full((len(signals), 1), os.getpid() % 9973)  # noqa: E731
    return Method(name, "f" * 64, pid, apart=apart)


def methods() -> list[Method]:
    model = random_encoder(TINY)
    return [encoder(model), handcrafted(), process(apart=True), process(apart=False)]


@pytest.fixture
def two_processes(monkeypatch: pytest.MonkeyPatch, forked_workers: None) -> Iterator[None]:
    """Forty recordings are worth two processes of a thread each."""
    monkeypatch.setattr(module, "WORTH_A_PROCESS", 20)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(threads)


def test_other_processes_compute_the_same_features_of_what_may_be_apart(tmp_path, two_processes):
    steps: list[tuple[str, int]] = []

    @contextmanager
    def progress(what):
        totals = set()
        yield lambda done, total, note="": totals.add(total)
        steps.extend((what, total) for total in totals)

    many = extract(Beats().recordings, methods(), tmp_path / "many", progress)
    assert steps == [("made, features: records", 40), ("made, features: records", 40)]
    torch.set_num_threads(1)
    one = extract(Beats().recordings, methods(), tmp_path / "one")
    usable = np.r_[0:5, 7:40]
    apart, here = (set(many.pop(name).x_RF[usable, 0]) for name in ("processes", "process"))
    assert here == {os.getpid() % 9973}
    assert len(apart - here) == len(apart) <= 2
    assert list(many) == list(one)[:-2]
    for name, features in many.items():
        np.testing.assert_array_equal(features.x_RF, one[name].x_RF, err_msg=name)
        assert np.isfinite(features.x_RF[usable]).all()
        assert features.unreadable == {"r5": "truncated", "r6": "nan"}


def test_a_killed_worker_is_told_and_none_of_its_features_are_kept(tmp_path, two_processes):
    killed = Method("killed", "e" * 64, lambda signals: os.kill(os.getpid(), signal.SIGKILL), apart=True)
    with pytest.raises(CorpusError, match=r"a worker process was killed.*OMP_NUM_THREADS"):
        extract(Source().recordings, [killed], tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_model_too_large_for_one_thread_stays_in_this_process():
    model = random_encoder(TINY)
    model.register_parameter("more", torch.nn.Parameter(torch.zeros(SMALL)))
    assert not encoder(model).apart


@pytest.mark.parametrize(
    ("data", "method", "reads"),
    [("a", "b", 0), ("d", "b", 40), ("a", "d", 40)],
    ids=["same", "data", "model"],
)
def test_later_nothing_is_read_but_of_other_data_or_for_another_model(data, method, reads, tmp_path):
    first = extract(Source().recordings, [mean()], tmp_path)["mean of all"]
    again = Source(data * 64)
    second = extract(again.recordings, [mean(method * 64)], tmp_path)["mean of all"]
    assert again.reads == reads
    np.testing.assert_array_equal(second.x_RF, first.x_RF)
    assert second.unreadable == first.unreadable


RECORDS = 2 * BLOCK_ROWS + 4


def blocks_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.npz"))


def flip(block: Path) -> None:
    """Change one bit of a feature."""
    content = bytearray(block.read_bytes())
    content[content.index(b"features.npy") + 170] ^= 1
    block.write_bytes(content)


ELSE = {"key": np.array("of another"), "reasons": np.full(BLOCK_ROWS, "")}
THEIRS = np.zeros((BLOCK_ROWS, 2), np.float32)


@pytest.mark.parametrize(
    ("spoil", "warning"),
    [
        (lambda block, other: block.write_bytes(block.read_bytes()[:100]), "is damaged"),
        (lambda block, other: flip(block), "is damaged"),
        (lambda block, other: np.savez(block, features=np.array([object()]), **ELSE), "is damaged"),
        (lambda block, other: shutil.copyfile(other, block), "belongs to other"),
        (
            lambda block, other: np.savez(block, features=THEIRS, **ELSE),
            "belongs to other",
        ),
    ],
    ids=["cut", "a bit flipped", "pickled objects", "another block under its name", "other data's"],
)
def test_a_block_that_does_not_hold_its_features_is_computed_again_and_that_one_alone(
    spoil, warning, tmp_path, caplog
):
    first = extract(Source(records=RECORDS).recordings, [mean()], tmp_path)["mean of all"]
    blocks = blocks_in(tmp_path)
    assert len(blocks) == 3
    spoil(blocks[0], blocks[1])
    again = Source(records=RECORDS)
    second = extract(again.recordings, [mean()], tmp_path)["mean of all"]
    assert again.reads in (4, BLOCK_ROWS), "a whole block, or the last four"
    assert warning in caplog.text
    np.testing.assert_array_equal(second.x_RF, first.x_RF)
    assert second.unreadable == first.unreadable


def test_a_killed_probe_goes_on_where_it_was_with_the_same_features(tmp_path):
    methods = [encoder(random_encoder(TINY)), mean()]

    def killed(row: int) -> np.ndarray:
        if row == RECORDS - 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return Beats().read(row)

    dying = replace(Source(records=RECORDS).recordings, read=killed)
    assert forked.run(lambda: extract(dying, methods, tmp_path / "killed")) == -signal.SIGKILL
    assert len(blocks_in(tmp_path / "killed")) == 2 * 2
    notes: list[tuple[object, ...]] = []

    @contextmanager
    def progress(what):
        yield lambda *given: notes.append(given)

    source, whole = Beats(records=RECORDS), Beats(records=RECORDS)
    resumed = extract(source.recordings, methods, tmp_path / "killed", progress)
    assert source.reads == 4
    assert notes == [(64, RECORDS), (RECORDS, RECORDS, "64 of them before")]
    for name, features in extract(whole.recordings, methods, tmp_path / "whole").items():
        np.testing.assert_array_equal(resumed[name].x_RF, features.x_RF, err_msg=name)
        assert resumed[name].unreadable == features.unreadable == {"r5": "truncated", "r6": "nan"}
    assert not list((tmp_path / "killed").rglob(".*"))


def test_features_of_a_method_that_changed_meanwhile_are_not_kept(tmp_path):
    model = random_encoder(TINY)
    method = encoder(model)
    with torch.no_grad():
        next(model.parameters()).add_(1)
    with pytest.raises(CheckpointError, match="encoder changed while"):
        extract(Beats().recordings, [method], tmp_path)
    assert not blocks_in(tmp_path)


def test_nothing_is_kept_when_a_method_fails(tmp_path):
    broken = Method("broken", "e" * 64, lambda signals: np.full((len(signals), 2), np.nan))
    with pytest.raises(InputError, match="finite, got NaN or infinite values from broken"):
        extract(Source().recordings, [mean(), broken], tmp_path)
    assert not list(tmp_path.iterdir())
