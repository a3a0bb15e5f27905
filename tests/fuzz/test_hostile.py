"""Inputs of a few bytes that ask for hours or gigabytes: each is read, or refused in one line, at once.

Each is made sparse or packed, and the commands run in processes of their own. With MARECG_HOSTILE=1 in the
environment they are as large as they were when they broke something; by default they are smaller, beside
bounds that are smaller by as much.
"""

import itertools
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.ecg_records import clinical_files
from tests.forked import command as start

import marecg.corpus.prepare  # what the processes need, loaded once
import marecg.embedding.embed_records
import marecg.use.predict  # noqa: F401
from ecg_records import stretch
from ecg_records.readers.arrays import array_files
from ecg_records.readers.clinical import dicom, xml
from ecg_records.signal.leads import LEADS

PIECE = 1 << 20
ARRAYS = ("--fs", "500")


def wfdb_codes(folder: Path, size: float) -> None:
    codes = ",".join(str(10**8 + number) for number in range(round(1e5 * size)))
    (folder / "r.hea").write_text(f"r 1 500 5000\nr.dat 16 1000/mV 16 0 0 0 0 II\n#Dx: {codes}\n")
    (folder / "r.dat").write_bytes(bytes(10_000))


def npz_members(folder: Path, size: float) -> None:
    with zipfile.ZipFile(folder / "a.npz", "w") as archive:
        for number in range(round(18_000 * size)):
            archive.writestr(f"{number}.npy", _npy((12, 100), bytes(9600)))


def npz_negative(folder: Path, size: float) -> None:
    with zipfile.ZipFile(folder / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", _npy((12, -round(5000 * size)), bytes(1000)))


def npz_bomb(folder: Path, size: float) -> None:
    samples = round(30e6 * size)
    with (
        zipfile.ZipFile(folder / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("x.npy", "w", force_zip64=True) as member,
    ):
        member.write(_npy((12, samples)))
        for piece in _zeros(96 * samples):
            member.write(piece)


def parquet_empty_rows(folder: Path, size: float) -> None:
    first = np.random.default_rng(0).normal(size=(12, 100)).tolist()
    rows = [first, *([[]] * round(3e5 * size))]
    pq.write_table(pa.table({"ecg": pa.array(rows, pa.list_(pa.list_(pa.float32())))}), folder / "a.parquet")


def parquet_one_group(folder: Path, size: float) -> None:
    rows = round(60e6 * size)
    zeros = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), pa.array([0.5], pa.float32()))
    table = pa.table(dict.fromkeys(LEADS, zeros.cast(pa.float32())))
    pq.write_table(table, folder / "a.parquet", row_group_size=rows)


def mat4(folder: Path, size: float) -> None:
    samples = round(30e6 * size)
    head = np.array([0, 12, samples, 0, 2], "<i4").tobytes() + b"x\0"
    _sparse(folder / "a.mat", len(head) + 96 * samples, head)


def mat5(folder: Path, size: float) -> None:
    """A compressed variable that unpacks to 2.9 GB."""
    samples = round(30e6 * size)
    parts = [_element(6, np.array([6, 0], "<u4")), _element(5, np.array([12, samples], "<i4"))]
    tag = np.array([9, 96 * samples], "<u4").tobytes()
    begin = b"".join([*parts, _element(1, np.frombuffer(b"x", "i1")), tag])
    head = np.array([14, len(begin) + 96 * samples], "<u4").tobytes() + begin
    packed = _packed(itertools.chain([head], _zeros(96 * samples)))
    tag = np.array([15, len(packed)], "<u4").tobytes()
    (folder / "a.mat").write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM" + tag + packed)


def hdf5_chunk(folder: Path, size: float) -> None:
    """One piece of gigabytes, packed."""
    samples = round(30e6 * size)
    with h5py.File(folder / "a.h5", "w") as file:
        made = file.create_dataset("x", (12, samples), "f8", chunks=(12, samples), compression="gzip")
        made.id.write_direct_chunk((0, 0), _packed(_zeros(96 * samples)))


def aecg_digits(folder: Path, size: float) -> None:
    path = folder / "a.xml"
    clinical_files.aecg(path, np.zeros((12, 5000)))
    text = path.read_text()
    begin = text.index("<digits>") + len("<digits>")
    path.write_text(text[:begin] + "1 " * round(1e8 * size) + text[text.index("</digits>") :])


def aecg_within(folder: Path, size: float) -> None:
    """As many digits as the bound lets in."""
    aecg_digits(folder, 0.1 * size)


def xml_tags(folder: Path, size: float) -> None:
    (folder / "a.xml").write_text(f"<AnnotatedECG>{'<a/>' * round(12.5e6 * size)}</AnnotatedECG>")


def dicom_sparse(folder: Path, size: float) -> None:
    _sparse(folder / "a.dcm", round(4 * size * (1 << 30)), bytes(128) + b"DICM")


def dicom_deflated(folder: Path, size: float) -> None:
    packed = _packed(_zeros(round(4 * size * (1 << 30))), wbits=-15)
    syntax = b"1.2.840.10008.1.2.1.99\0\0"[: 22 + 1]
    meta = b"\2\0\x10\0UI" + len(syntax + b"\0").to_bytes(2, "little") + syntax + b"\0"
    (folder / "a.dcm").write_bytes(bytes(128) + b"DICM" + meta + packed)


def dicom_elements(folder: Path, size: float) -> None:
    """A sequence of one item, which holds nothing but elements without content."""
    meta = b"\2\0\x10\0UI\x14\0" + b"1.2.840.10008.1.2.1\0"
    items = b"\xfe\xff\0\xe0" + b"\xff" * 4 + b"\x09\0\x10\0LO\0\0" * round(7.9e6 * size)
    (folder / "a.dcm").write_bytes(bytes(128) + b"DICM" + meta + b"\0\x54\0\1SQ\0\0" + b"\xff" * 4 + items)


def ontology(folder: Path, size: float) -> None:
    """A model whose ontology.json is a hole of 50 GB."""
    from marecg.model.mar_ecg import MarEcg
    from marecg.recipes.named import tiny

    MarEcg(tiny().model).save_pretrained(folder / "model")
    (folder / "model" / "ontology.json").unlink()
    _sparse(folder / "model" / "ontology.json", round(50 * size * (1 << 30)), b"{")
    np.save(folder / "a.npy", np.zeros((12, 5000), np.float32))


class Hostile(NamedTuple):
    """An input, what is said of it, the options that it needs, and its model if not the installed one."""

    write: Callable[[Path, float], None]
    says: str
    options: tuple[str, ...] = ()
    model: str = ""


INPUTS: dict[str, Hostile] = {
    "WFDB header with 100,000 codes": Hostile(wfdb_codes, "must have at most .* codes"),
    ".npz of 18,000 small members": Hostile(npz_members, "must have at most .* arrays", ARRAYS),
    ".npz with an axis of negative length": Hostile(npz_negative, "axis of negative length", ARRAYS),
    ".npz of 3 MB that unpacks to 2.9 GB": Hostile(npz_bomb, "1 records|flat-lead", ARRAYS),
    "Parquet with 300,000 empty rows": Hostile(
        parquet_empty_rows, "too small|leads of a record must have the same length", ARRAYS
    ),
    "Parquet with one row group of 60 million": Hostile(parquet_one_group, "1 records|flat-lead", ARRAYS),
    "MAT4 of 2.9 GB": Hostile(mat4, "a MATLAB file of level 4 must have at most", ARRAYS),
    "MAT5 of 3 MB that unpacks to 2.9 GB": Hostile(mat5, "1 records|flat-lead", ARRAYS),
    "HDF5 with one chunk of 2.9 GB": Hostile(hdf5_chunk, "HDF5 chunks must have at most", ARRAYS),
    "aECG with 100,000,000 digits": Hostile(aecg_digits, "must have at most .* MB, got"),
    "aECG with 10,000,000 digits": Hostile(aecg_within, "leads must have the same length, got 5000 and"),
    "XML of 12,500,000 empty elements": Hostile(xml_tags, "must have at most .* tags"),
    "DICOM of 4 GB, sparse": Hostile(dicom_sparse, "must have at most .* MB, got"),
    "DICOM of 4 MB that inflates to 4 GB": Hostile(dicom_deflated, "is deflated"),
    "DICOM of 8,000,000 elements in an item": Hostile(dicom_elements, "elements"),
    "model with an ontology.json of 50 GB": Hostile(ontology, "must have at most 64 MB", ARRAYS, "model"),
}


class Outcome(NamedTuple):
    """A command's exit code, seconds of processor time, growth of memory in bytes, and what it printed."""

    code: int
    seconds: float
    growth: int
    printed: str


def run(argv: list[str], printed: Path) -> Outcome:
    """Run a command in a copy of this process, whose own memory (of a whole test run, say) isn't counted."""
    at_start = printed.with_suffix(".rss")
    begin = start(argv, str(printed), lambda: at_start.write_text(str(psutil.Process().memory_info().rss)))
    _, status, usage = os.wait4(begin, 0)
    code, seconds = os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
    return Outcome(code, seconds, usage.ru_maxrss * 1024 - int(at_start.read_text()), printed.read_text())


def outcomes(name: str, folder: Path, size: float) -> Iterator[tuple[str, Outcome]]:
    """What commands make of an input."""
    records = folder / "records"
    records.mkdir()
    each = INPUTS[name]
    each.write(records, size)
    model = [str(records / each.model)] if each.model else []
    inputs = [str(records / "a.npy")] if model else [str(records)]
    commands = [["embed", *model, *inputs, "--out", str(folder / "out.parquet"), "--jobs", "1"]]
    if model:  # where it names none, predict reads as embed does
        commands.append(["predict", *model, *inputs])
    else:
        commands.append(["prepare", *inputs, "--out", str(folder / "corpus"), "--jobs", "1"])
    for argv in commands:
        yield argv[0], run([*argv, *each.options], folder / "printed.txt")


def _npy(shape: tuple[int, int], content: bytes = b"") -> bytes:
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head.encode() + content


def _element(kind: int, values: Any) -> bytes:
    content: bytes = values.tobytes()
    return np.array([kind, len(content)], "<u4").tobytes() + content + bytes(-len(content) % 8)


def _packed(pieces: Iterable[bytes], wbits: int = 15) -> bytes:
    packing = zlib.compressobj(1, wbits=wbits)
    return b"".join(map(packing.compress, pieces)) + packing.flush()


def _zeros(count: int) -> Iterator[bytes]:
    for first in range(0, count, PIECE):
        yield bytes(min(PIECE, count - first))


def _sparse(path: Path, size: int, begin: bytes) -> None:
    path.write_bytes(begin)
    os.truncate(path, size)


SIZE = float(os.environ.get("MARECG_HOSTILE", "0.005"))
BOUNDS = {stretch: ("FILE_BYTES", "MOST_CODES"), dicom: ("MOST_ELEMENTS",)}
BOUNDS[xml] = ("MOST_TAGS",)
BOUNDS[array_files] = ("LARGEST_CHUNK", "MOST_MEMBERS")


SAMPLE = ("WFDB header with 100,000 codes", ".npz of 18,000 small members", "DICOM of 4 GB, sparse")
"""Inputs that every run of the tests tries. The others are tried at night."""
CASES = [pytest.param(name, marks=() if name in SAMPLE else pytest.mark.nightly) for name in INPUTS]


@pytest.mark.parametrize("name", CASES)
def test_it_is_read_or_refused_in_one_line_and_in_bounds(name, tmp_path, monkeypatch):
    for module, bounds in BOUNDS.items():
        for bound in bounds:
            monkeypatch.setattr(module, bound, round(getattr(module, bound) * SIZE))
    for command, done in outcomes(name, tmp_path, SIZE):
        assert done.code in {0, 1, 3}, (command, done.printed)
        assert "Traceback" not in done.printed
        assert re.search(INPUTS[name].says, done.printed), (command, done.printed)
        assert max(map(len, done.printed.splitlines())) < 400
        assert done.seconds < 5
        assert done.growth < 1 << 30
