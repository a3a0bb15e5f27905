"""Plain arrays are records by what the user says of them: rate, leads, units, key."""

import errno
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made_records import make_ecg, make_record

from ecg_base import InputError, OutputError, UsageError
from ecg_records.errors import CorpusError, RecordError
from ecg_records.readers.arrays import arrays, lazy_array
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.arrays.arrays import ArrayFile
from ecg_records.readers.discovery import find
from ecg_records.readers.inputs import find_inputs
from marecg.corpus.account import Account
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus

X_BCL = np.random.default_rng(0).normal(0, 0.5, (40, 12, 300)).astype(np.float32)


@pytest.mark.parametrize(
    ("layout", "per_mv"),
    [
        (Layout(500, units="uV"), 1000),
        (Layout(500, units="V"), 0.001),
        (Layout(500, units="adc", gain=204.8), 204.8),
        (Layout(500, units="mv"), 1),
    ],
)
def test_the_units_decide_the_amplitude(tmp_path, layout, per_mv):
    np.save(tmp_path / "a.npy", X_BCL.astype(np.float64) * per_mv)
    np.testing.assert_allclose(ArrayFile(tmp_path / "a.npy", layout).signal(7)[0], X_BCL[7], rtol=1e-6)


@given(st.integers(1, 15), st.integers(16, 40), st.integers(1, 4), st.booleans())
def test_the_axis_of_the_leads_is_known_by_their_number(leads, samples, records, swapped):
    shape = (records, samples, leads) if swapped else (records, leads, samples)
    assert arrays.lead_axis(shape[1:], leads) == int(swapped)
    assert arrays.lead_axis((leads, leads), leads) is None
    assert arrays.lead_axis((samples, samples), leads) is None


def test_an_array_that_does_not_fit_its_leads_or_has_no_samples_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((1, 12, 0)))
    [candidate] = find([tmp_path / "a.npy"], layout=Layout(500))
    with pytest.raises(RecordError, match="no samples"):
        candidate.read()
    for shape in [(5, 8, 100), (3, 12, 12), (100,), (12, 12)]:
        np.save(tmp_path / "a.npy", np.zeros(shape))
        with pytest.raises(
            UsageError,
            match=r"a\.npy: must have .* axis of 12 leads, got array \(" + " × ".join(map(str, shape)),
        ):
            ArrayFile(tmp_path / "a.npy", Layout(500))


def test_several_arrays_that_could_be_signals_are_listed_and_one_is_chosen_by_key(tmp_path):
    np.savez(tmp_path / "a.npz", train=X_BCL, test=X_BCL[:3], age=np.zeros(40))
    with pytest.raises(UsageError, match=r"train \(40 × 12 × 300\); test \(3 × 12 × 300\).*array.key="):
        ArrayFile(tmp_path / "a.npz", Layout(500))
    assert len(ArrayFile(tmp_path / "a.npz", Layout(500, key="test"))) == 3
    with pytest.raises(UsageError, match="has no array 'val'"):
        ArrayFile(tmp_path / "a.npz", Layout(500, key="val"))


@pytest.mark.parametrize(
    "values",
    [
        {"fs": 0}, {"fs": float("nan")}, {"units": "bar"}, {"gain": 200.0}, {"units": "adc"},
        {"units": "adc", "gain": 0.0}, {"leads": ("I", "i")}, {"leads": ()},
    ],
)  # fmt: skip
def test_an_impossible_layout_is_wrong_usage(values):
    with pytest.raises(UsageError, match="must"):
        Layout(**{"fs": 500} | values)


def beats(count: int = 20) -> np.ndarray:
    return np.stack([make_ecg(seed=seed) for seed in range(count)]).astype(np.float32)


def test_a_corpus_of_arrays_has_no_codes_and_every_row_is_accounted_for(tmp_path):
    x_BCL = beats()
    x_BCL[3, 5:] = 0
    np.save(tmp_path / "clinic.npy", x_BCL)
    report = prepare([tmp_path / "clinic.npy"], tmp_path / "out", jobs=1, layout=Layout(500))
    assert report.sources == {"clinic": Account(found=20, kept=19, quarantined={"flat-lead": 1})}
    assert report.records[0].path == "clinic.npy#3"
    corpus = Corpus.open(tmp_path / "out")
    assert corpus.ids == [f"clinic/{row}" for row in range(20) if row != 3]
    assert not corpus.y.any()
    np.testing.assert_allclose(corpus.signals([2, 3])[1], x_BCL[4, :, :4700], atol=6e-4)
    with pytest.raises(CorpusError, match="other array layout"):
        prepare([tmp_path / "clinic.npy"], tmp_path / "out", jobs=1, layout=Layout(250))


def test_an_array_without_a_rate_or_with_fewer_leads_is_wrong_usage(tmp_path):
    np.save(tmp_path / "a.npy", beats(2)[:, :2])
    with pytest.raises(UsageError, match="sampling rate"):
        find([tmp_path / "a.npy"])
    with pytest.raises(UsageError, match="unknown"):
        find_inputs([tmp_path], Layout(500, ("II", "X")))
    with pytest.raises(UsageError, match="lacks the leads III"):
        prepare([tmp_path / "a.npy"], tmp_path / "out", jobs=1, layout=Layout(500, ("I", "II")))
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(CorpusError, match="must be a folder, an array file or a clinical file"):
        find([tmp_path / "a.txt"])


def test_in_a_folder_arrays_are_found_beside_headers_and_what_is_none_is_quarantined(tmp_path):
    folder = tmp_path / "ours"
    make_record(folder, "A0001")  # with an A0001.mat that isn't an array
    np.save(folder / "a.npy", beats(2))
    np.save(folder / "labels.npy", np.zeros((2, 5)))
    (folder / "b.h5").write_bytes(b"x")
    np.save(tmp_path / "outside.npy", beats(1))
    (folder / "link.npy").symlink_to(tmp_path / "outside.npy")
    report = prepare([folder], tmp_path / "out", jobs=1, layout=Layout(500))
    assert (report.found, report.kept) == (6, 3)
    assert report.quarantined == {"path": 1, "shape": 1, "unreadable": 1}
    assert len(find([folder])) == 1, "without a layout arrays in folders are passed over"


def test_a_file_that_changes_between_two_reads_is_read_anew(tmp_path):
    np.save(tmp_path / "a.npy", beats(1))
    [candidate] = find([tmp_path / "a.npy"], layout=Layout(500))
    first = candidate.read().x_CL
    np.save(tmp_path / "a.npy", -beats(1))
    np.testing.assert_array_equal(candidate.read().x_CL, -first)


def test_values_that_are_no_numbers_are_quarantined_as_such(tmp_path):
    x_BCL = np.repeat(beats(1).astype(np.float64), 3, axis=0)
    x_BCL *= 1000
    x_BCL[0, 3:, ::7], x_BCL[1, 3:, ::7], x_BCL[2, 3:, ::7] = np.nan, np.inf, 1e300
    np.save(tmp_path / "a.npy", x_BCL)
    report = prepare([tmp_path / "a.npy"], tmp_path / "out", jobs=1, layout=Layout(500, units="uV"))
    assert report.quarantined == {"nan": 3}


@pytest.mark.parametrize("long", [False, True])
def test_a_column_of_records_makes_a_file_of_many(tmp_path, long):
    """Their rows may be mixed and out of order: the time says it; and they may differ in length."""
    x = {"p9": X_BCL[0, :2, :6], "p1": X_BCL[1, :2, :9]}
    rows = [
        {"record": name, "time": sample, "II": ii, "V1": v1}
        for name, x_KL in x.items()
        for sample, (ii, v1) in enumerate(x_KL.T)
    ]
    frame = pd.DataFrame([rows[0], *rows[:0:-1]])
    if long:
        frame = frame.melt(["record", "time"], var_name="lead")
    frame.to_csv(tmp_path / "all.csv", index=False)
    records = [candidate.read() for candidate in find_inputs([tmp_path / "all.csv"], Layout(500)).values()]
    assert [(record.id, record.leads) for record in records] == [("p9", ("II", "V1")), ("p1", ("II", "V1"))]
    for record in records:
        np.testing.assert_allclose(record.x_KL, x[record.id], rtol=1e-5)
    frame.drop(columns="time").to_csv(tmp_path / "all.csv", index=False)
    with (tmp_path / "all.csv").open("a") as file:
        file.write("p9,II,1" if long else "p9,1,x")
    with pytest.raises(InputError, match="leads must have the same length" if long else r"all\.csv"):
        find_inputs([tmp_path / "all.csv"], Layout(500))


def test_text_is_taken_where_it_holds_signals_and_passed_over_where_it_is_a_table(tmp_path):
    (tmp_path / "labels.csv").write_text("id,age\na,61\nb,62\n")
    (tmp_path / "notes.txt").write_text("measured in the morning\nby hand\n")
    (tmp_path / "two.csv").write_text("time,V1,ecg_II\n" + "".join(f"{row},0.{row},-1\n" for row in range(9)))
    (tmp_path / "bare.tsv").write_text("1\t2\n3\t4\n5\t6\n")
    candidates = find_inputs([tmp_path], Layout(500, ("II", "V1")))
    assert list(candidates) == [f"{tmp_path.name}/bare", f"{tmp_path.name}/two"]
    bare, two = (candidate.read() for candidate in candidates.values())
    assert (two.leads, two.x_KL[:, 3].tolist()) == (("II", "V1"), pytest.approx([-1, 0.3]))
    assert bare.x_KL.tolist() == [[1, 3, 5], [2, 4, 6]]
    (tmp_path / "two.csv").write_text("V1,II\n1,2\n3,x\n5,6\n")
    with pytest.raises(RecordError, match="can't be read"):
        candidates[f"{tmp_path.name}/two"].read()


def test_without_room_to_unpack_a_file_nothing_is_quarantined(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "clinic.npz", x=beats(2))
    full = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    monkeypatch.setattr(lazy_array, "TemporaryFile", full)
    problem = r"clinic\.npz: can't be unpacked: the disk is full\. Free disk space, or set TMPDIR"
    with pytest.raises(OutputError, match=problem):
        prepare([tmp_path / "clinic.npz"], tmp_path / "corpus", layout=Layout(fs=500), jobs=1)
    assert not (tmp_path / "corpus" / "corpus.json").exists()
