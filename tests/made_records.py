"""Small WFDB records, as good or as bad as a test wants them, and arrays in files of every kind.

Shapes: C leads, L samples.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.io import savemat

from ecg_records.signal.leads import LEADS

BEAT = 0.8
"""Seconds between two beats of `ecg`; the first is at half of it."""


def make_ecg(seconds: float = 10, fs: float = 500, seed: int = 0) -> NDArray[np.float64]:
    """Twelve leads [12, L] in mV: a narrow beat and a T wave every 0.8 s, of another height on each lead."""
    time = np.arange(round(seconds * fs)) / fs
    phase = time % BEAT - BEAT / 2
    beat = np.exp(-((phase / 0.012) ** 2)) + 0.25 * np.exp(-(((phase - 0.25) / 0.05) ** 2))
    heights = np.array([1.0, 1.4, 0.4, -1.2, 0.3, 0.9, -0.6, 0.4, 0.8, 1.3, 1.2, 1.0])
    noise = np.random.default_rng(seed).normal(0, 0.01, (12, len(time)))
    return heights[:, None] * beat + noise


def make_bigeminy(of_lead_i: float, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Twelve leads [12, 5000] in mV and their 13 beats: every second one early, wide and high in lead II.

    Lead I has so much of a sinus beat, and nothing of the others.
    """
    beats = 0.4 + np.arange(13) // 2 * 1.6 + np.arange(13) % 2 * 0.55
    away_KL = np.arange(5000) / 500 - beats[:, None]
    sinus = np.exp(-((away_KL[::2] / 0.012) ** 2)).sum(0)
    early = np.exp(-((away_KL[1::2] / 0.03) ** 2)).sum(0)
    x_CL = np.random.default_rng(seed).normal(0, 0.01, (12, 5000))
    x_CL[0] += of_lead_i * sinus
    x_CL[1:] += np.linspace(1, 0.5, 11)[:, None] * (sinus + 1.8 * early)
    return x_CL, np.rint(beats * 500).astype(np.int64)


def make_record(
    folder: Path,
    name: str = "A0001",
    x_CL: NDArray[np.float64] | None = None,
    *,
    fs: float = 500,
    leads: Sequence[str] = LEADS,
    gain: float = 1000,
    scale: str = "1000/mV",
    comments: Sequence[str] = ("Age: 63", "Sex: Female", "Dx: 426783006"),
    record_line: str = "",
    file: str = "",
    end: str = "\n",
) -> Path:
    """Write a record in the Challenge's form (16-bit samples behind 24 bytes); return its header."""
    x_CL = make_ecg(fs=fs) if x_CL is None else x_CL
    digital = np.nan_to_num(np.rint(x_CL * gain), nan=-32768).astype("<i2")
    file = file or f"{name}.mat"
    folder.mkdir(parents=True, exist_ok=True)
    if "/" not in file:
        (folder / file).write_bytes(bytes(24) + digital.T.tobytes())
    lines = [record_line or f"{name} {len(leads)} {fs:g} {digital.shape[1]}"]
    for lead, samples in zip(leads, digital, strict=True):
        checksum = np.int64(samples.sum(dtype=np.int64)).astype(np.int16)
        lines.append(f"{file} 16+24 {scale} 16 0 {samples[0]} {checksum} 0 {lead}")
    lines += [f"#{comment}" for comment in comments]
    header = folder / f"{name}.hea"
    header.write_bytes((end.join(lines) + end).encode())
    return header


def compressed(path: Path, x: NDArray[np.float32]) -> None:
    np.savez_compressed(path, signals=x)


def hdf5(path: Path, x: NDArray[np.float32]) -> None:
    with h5py.File(path, "w") as file:
        file["ecg/tracings"] = x
        file["exam_id"] = np.arange(len(x))
        file.create_dataset("names", data=["a", "b"])


def parquet(path: Path, x: NDArray[np.float32]) -> None:
    cells = pa.array(x.tolist(), pa.list_(pa.list_(pa.float32())))
    pq.write_table(pa.table({"id": range(len(x)), "ecg": cells}), path, row_group_size=7)


def mat73(path: Path, x: NDArray[np.float32]) -> None:
    with h5py.File(path, "w", userblock_size=512) as file:
        file["ecg"] = x.T  # MATLAB counts axes from the other end
    with path.open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file".ljust(116) + bytes(8) + b"\x00\x02IM")


WRITERS: dict[str, Callable[[Path, NDArray[np.float32]], None]] = {
    "a.npy": np.save, "b.npz": lambda path, x: np.savez(path, signals=x, age=np.zeros(len(x))),
    "c.npz": compressed, "d.h5": hdf5, "e.hdf5": hdf5, "f.parquet": parquet,
    "g.mat": lambda path, x: savemat(path, {"ecg": x, "fs": 500.0, "who": "nobody"}), "h.mat": mat73,
}  # fmt: skip
