"""Records on disk are found and read with the leads that they have."""

from pathlib import Path

import numpy as np
import pytest

from marecg.config import LEADS
from marecg.errors import RecordError, UsageError
from marecg.read.any_leads import entries
from marecg.read.array_layout import Layout
from marecg.synth import write_corpus

TWO = Layout(250, ("II", "V1"))


def test_arrays_of_a_folder_are_read_row_by_row_with_the_leads_named(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(3, 2, 1000)).astype(np.float32)
    np.save(tmp_path / "many.npy", x)
    np.save(tmp_path / "one.npy", x[0].T)
    signals = [entry.read() for entry in entries([tmp_path], TWO)]
    assert [signal.name for signal in signals] == [
        *(f"{tmp_path.name}/many/{row}" for row in range(3)),
        f"{tmp_path.name}/one",
    ]
    for signal, expected in zip(signals, [*x, x[0]], strict=True):
        np.testing.assert_array_equal(signal.x_KL, expected)
        assert (signal.fs, signal.leads) == (250, ("II", "V1"))


def test_twelve_leads_come_in_the_order_of_every_tensor(tmp_path: Path) -> None:
    x = np.arange(12, dtype=np.float32)[:, None] * np.ones((12, 500), np.float32)
    np.save(tmp_path / "mixed.npy", x[::-1])
    (entry,) = entries([tmp_path / "mixed.npy"], Layout(500, LEADS[::-1]))
    signal = entry.read()
    assert (signal.name, signal.leads) == ("mixed", LEADS)
    np.testing.assert_array_equal(signal.x_KL, x)


def test_a_file_that_can_not_be_used_fails_alone(tmp_path: Path) -> None:
    np.save(tmp_path / "good.npy", np.zeros((1, 2, 1000), np.float32))
    np.save(tmp_path / "three.npy", np.zeros((1, 3, 1000), np.float32))
    (tmp_path / "text.npy").write_text("no array")
    read = {Path(entry.place.partition("#")[0]).stem: entry.read for entry in entries([tmp_path], TWO)}
    assert read["good"]().x_KL.shape == (2, 1000)
    for name in ("three", "text"):
        with pytest.raises(RecordError):
            read[name]()


def test_a_record_is_there_once_however_often_it_is_named(tmp_path: Path) -> None:
    write_corpus(tmp_path / "wfdb", 2, 0)
    header = sorted((tmp_path / "wfdb").rglob("*.hea"))[0]
    found = entries([tmp_path / "wfdb", header, header.with_suffix(""), header.with_suffix(".mat")])
    assert len(found) == 2
    assert all(entry.read().leads == LEADS for entry in found)


def test_a_layout_with_unknown_leads_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown"):
        entries([tmp_path], Layout(500, ("II", "X")))
