"""Every kind of file gives the rows that went into it, and a damaged one is one clear error."""

import tracemalloc
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.io import savemat
from tests.made_records import WRITERS, compressed, hdf5

from ecg_base import InputError, UsageError
from ecg_records.errors import RecordError
from ecg_records.readers.arrays import arrays
from ecg_records.readers.arrays.array_files import arrays_in
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.arrays.arrays import ArrayFile
from ecg_records.readers.arrays.lazy_array import Unpacked
from ecg_records.signal.leads import LEADS, lead_name
from ecg_records.stretch import Stretch

X_BCL = np.random.default_rng(0).normal(0, 0.5, (40, 12, 300)).astype(np.float32)


def everything(file: ArrayFile) -> np.ndarray:
    return np.stack([file.signal(row)[0] for row in range(len(file))])


@pytest.mark.parametrize("name", WRITERS)
def test_records_come_out_as_they_went_in_whichever_axis_the_leads_are_on(tmp_path, name):
    for x in (X_BCL, X_BCL.transpose(0, 2, 1)):
        WRITERS[name](tmp_path / name, x)
        np.testing.assert_array_equal(everything(ArrayFile(tmp_path / name, Layout(500))), X_BCL)


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "f.parquet"])
def test_two_axes_are_one_record(tmp_path, name):
    for x in (X_BCL[0], X_BCL[0].T):
        WRITERS[name](tmp_path / name, x)
        file = ArrayFile(tmp_path / name, Layout(500))
        assert len(file) == 1
        x_KL, length = file.signal(0, Stretch(seconds=0.2))
        np.testing.assert_array_equal(x_KL, X_BCL[0, :, :100])
        assert length == 300


@pytest.mark.parametrize("name", WRITERS)
def test_rows_may_be_asked_for_in_any_order(tmp_path, name, monkeypatch):
    monkeypatch.setattr(arrays, "SLAB", 3 * X_BCL[0].size * 8)
    WRITERS[name](tmp_path / name, X_BCL)
    file = ArrayFile(tmp_path / name, Layout(500))
    for row in (39, 0, 17, 18, 5, 38, 20, 0):
        np.testing.assert_array_equal(file.signal(row)[0], X_BCL[row])


def test_columns_named_by_lead_name_the_leads_themselves(tmp_path):
    order = ["V6", *LEADS[:11]]
    cells = {f"lead_{lead.lower()}": pa.array(list(X_BCL[:, LEADS.index(lead)])) for lead in order}
    pq.write_table(pa.table(cells), tmp_path / "lists.parquet", row_group_size=11)
    file = ArrayFile(tmp_path / "lists.parquet", Layout(500))
    assert [lead_name(lead) for lead in file.leads] == order
    np.testing.assert_array_equal(file.signal(30)[0], X_BCL[30][[LEADS.index(lead) for lead in order]])
    pq.write_table(pa.table(dict(zip(LEADS, X_BCL[3], strict=True))), tmp_path / "one.parquet")
    np.testing.assert_array_equal(everything(ArrayFile(tmp_path / "one.parquet", Layout(500)))[0], X_BCL[3])


def test_records_of_a_parquet_file_may_differ_in_length(tmp_path):
    records = [x_CL[:, : 200 + row] for row, x_CL in enumerate(X_BCL)]
    kind = pa.list_(pa.list_(pa.float32()))
    pq.write_table(pa.table({"ecg": pa.array([x.tolist() for x in records], kind)}), tmp_path / "a.parquet")
    file = ArrayFile(tmp_path / "a.parquet", Layout(500))
    assert [file.signal(row)[1] for row in range(40)] == list(range(200, 240))


@pytest.mark.parametrize("name", WRITERS)
def test_a_damaged_file_is_one_clear_error(tmp_path, name):
    WRITERS[name](tmp_path / name, X_BCL)
    whole = (tmp_path / name).read_bytes()
    for content in (b"", b"no array", whole[:100], whole[: len(whole) // 2]):
        (tmp_path / name).write_bytes(content)
        with pytest.raises((InputError, UsageError), match=name):
            everything(ArrayFile(tmp_path / name, Layout(500)))


def test_a_row_that_cannot_be_read_is_never_answered_with_another(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "SLAB", 8 * X_BCL[0].size * 8)
    compressed(tmp_path / "a.npz", X_BCL)
    file = ArrayFile(tmp_path / "a.npz", Layout(500))
    with (tmp_path / "a.npz").open("r+b") as raw:
        raw.seek((tmp_path / "a.npz").stat().st_size // 2)
        raw.write(bytes(1000))
    for row in (39, 38, 39):
        with pytest.raises(RecordError, match="can't be read"):
            file.signal(row)


def test_a_damaged_array_is_not_unpacked_again_for_each_of_its_records():
    begun = []

    def pieces():
        begun.append(1)
        yield b"\0" * 4
        raise ValueError("the stream is damaged")

    packed = Unpacked((4, 12), np.dtype("<f4"), pieces)
    for row in range(3):
        with pytest.raises(ValueError, match="the stream is damaged"):
            packed[row : row + 1,]
    assert begun == [1]


def test_pickled_objects_are_never_loaded(tmp_path):
    objects = np.array([{"a": 1}], dtype=object)
    np.save(tmp_path / "a.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "b.npz", a=objects)
    for name in ("a.npy", "b.npz"):
        with pytest.raises((InputError, UsageError), match=name):
            ArrayFile(tmp_path / name, Layout(500))


def test_links_inside_hdf5_lead_nowhere(tmp_path):
    hdf5(tmp_path / "secret.h5", X_BCL)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["external"] = h5py.ExternalLink("secret.h5", "/ecg/tracings")
        file.create_virtual_dataset("virtual", h5py.VirtualLayout((2, 12, 300), np.float32))
    for key in ("", "external", "virtual"):
        with pytest.raises(UsageError, match="no numbers"):
            ArrayFile(tmp_path / "a.h5", Layout(500, key=key))


@pytest.mark.parametrize("name", ["big.npy", "big.h5"])
def test_thirty_gigabytes_are_never_loaded(tmp_path, name):
    shape = (150_000, 4096, 12)
    if name == "big.npy":  # neither file takes room on disk before it is written
        np.lib.format.open_memmap(tmp_path / name, "w+", np.float32, shape)
    else:
        when = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        when.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        when.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        with h5py.File(tmp_path / name, "w") as h5:
            h5py.h5d.create(h5.id, b"x", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple(shape), when)
    tracemalloc.start()
    file = ArrayFile(tmp_path / name, Layout(400))
    for row in (0, 70_000, 149_999):
        assert not file.signal(row)[0].any()
    assert tracemalloc.get_traced_memory()[1] < 2 * arrays.SLAB
    tracemalloc.stop()


def test_a_file_that_announces_more_than_it_can_hold_is_refused(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("ecg", (1 << 40, 12, 5000), np.float32)
    with pytest.raises(InputError, match=r"is too small for the 1099511627776 × 12 × 5000 numbers"):
        ArrayFile(tmp_path / "a.h5", Layout(500))


def gzipped(path: Path, x: np.ndarray) -> None:
    with h5py.File(path, "w") as file:
        chunks = tuple(min(size, 10_000) for size in x.shape)
        file.create_dataset("ecg", data=x, compression="gzip", chunks=chunks)


def one_column_a_lead(path: Path, x_LC: np.ndarray) -> None:
    pq.write_table(pa.table(dict(zip(LEADS, x_LC.T, strict=True))), path, row_group_size=100_000)


PACKED = {
    "a.npz": lambda path, x: np.savez_compressed(path, ecg=x),
    "b.h5": gzipped,
    "c.mat": lambda path, x: savemat(path, {"ecg": x}, do_compression=True),
    "d.parquet": one_column_a_lead,
}


COLUMNS_ARE_LEADS = ("d.parquet", "leads first")
QUICK = [("a.npz", "samples first"), ("b.h5", "leads first"), ("c.mat", "leads first")]
ORDERS = [(name, order) for name in PACKED for order in ("leads first", "samples first")]
OTHERS = [each for each in ORDERS if each not in {*QUICK, COLUMNS_ARE_LEADS}]


@pytest.mark.parametrize(
    ("name", "order"), [*QUICK, *(pytest.param(*each, marks=pytest.mark.nightly) for each in OTHERS)]
)
def test_ten_seconds_of_a_packed_hour_take_the_memory_of_ten_seconds(tmp_path, name, order):
    x_CL = np.zeros((12, 1_000_000), np.float32)  # 48 MB, packed into a few kB
    x_CL[:, :300] = X_BCL[0]
    PACKED[name](tmp_path / name, x_CL if order == "leads first" else np.ascontiguousarray(x_CL.T))
    del x_CL
    tracemalloc.start()
    x_KL, length = ArrayFile(tmp_path / name, Layout(500)).signal(0, Stretch(seconds=0.6))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(x_KL, X_BCL[0])
    assert length == 1_000_000
    assert peak < 24 << 20  # zipfile skips over what is packed in pieces of 16 MB


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_any_block_of_an_npz_is_what_numpy_would_cut(tmp_path, write, order):
    x = np.asarray(X_BCL[:7, :, :20], order=order)
    write(tmp_path / "a.npz", x=x)
    lazy = arrays_in(tmp_path / "a.npz")["x"]
    keys = [(slice(2, 5),), (slice(0, 1), slice(None), slice(9)), (slice(1, 7), slice(3, 4), slice(5, 20))]
    for key in keys:
        np.testing.assert_array_equal(lazy[key], x[key])


def test_groups_in_groups_beyond_all_reason_are_refused_at_once(tmp_path):
    with h5py.File(tmp_path / "deep.h5", "w") as file:
        file["/".join("g" * 200) + "/ecg"] = X_BCL[0]
    with h5py.File(tmp_path / "circle.h5", "w") as file:
        file["ecg"] = X_BCL[0]
        file["g/itself"] = file["/"]
    with pytest.raises(InputError, match="nested at most 32 deep"):
        ArrayFile(tmp_path / "deep.h5", Layout(500))
    assert ArrayFile(tmp_path / "circle.h5", Layout(500)).is_single


def test_a_cell_too_long_to_be_decoded_is_refused(tmp_path):
    length = (1 << 25) // 12 + 1
    leads = pa.ListArray.from_arrays(np.arange(13) * length, pa.nulls(12 * length, pa.int8()))
    pq.write_table(
        pa.table({"signal": pa.ListArray.from_arrays([0, 12], leads)}),
        tmp_path / "a.parquet",
        use_dictionary=False,
    )
    with pytest.raises(InputError, match="must have at most 33,554,432 numbers"):
        ArrayFile(tmp_path / "a.parquet", Layout(500))
