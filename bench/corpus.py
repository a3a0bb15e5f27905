"""Preparing and reading a corpus, each against the plain way of doing it in the same run.

    python -m bench.corpus [RECORDS]

Prints, for a synthetic corpus: milliseconds per record beside a plain wfdb + NeuroKit2 loop that does no more
than read, resample and detect; the efficiency of two processes; a 115-s record beside a 10-s one, both at
1000 Hz; bytes per record; and records per second of whole-batch fetches beside one np.load per record.
"""

import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import neurokit2 as nk
import numpy as np
import wfdb
from scipy.signal import resample_poly

from marecg.config import LEADS, CorpusConfig
from marecg.data.candidates import Candidate
from marecg.data.corpus import prepare
from marecg.data.dataset import Corpus
from marecg.data.discovery import find
from marecg.data.preparation import prepare_block
from marecg.data.synth import write_corpus

BATCH = 64


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "synth", Path(folder) / "corpus"
        write_corpus(source, records, seed=0)
        preparing(source, out)
        cropping(Path(folder))
        reading(out, Path(folder))


def preparing(source: Path, out: Path) -> None:
    """Time per record, ours and the plain loop's, and what a second process brings."""
    candidates = find([source])
    some = candidates[: min(256, len(candidates))]
    ours = seconds(lambda: prepare_block(some, CorpusConfig())) / len(some)
    plain = seconds(lambda: [plain_way(each) for each in some]) / len(some)
    print(
        f"one process             {ours * 1e3:8.2f} ms per record, {plain / ours:.2f}× the plain loop's speed"
    )
    prepare([source], out, jobs=1)
    warm = out.with_name("warm-up")
    prepare(
        [source], warm, jobs=2
    )  # the workers' imports are not the question; loky keeps them for the next call
    times = [
        seconds(lambda jobs=jobs: prepare([source], out.with_name(f"by-{jobs}"), jobs=jobs))
        for jobs in (1, 2)
    ]
    faster = times[0] / times[1]
    print(f"two processes           {faster:8.2f}× one, efficiency {faster / 2:.2f}")


def plain_way(candidate: Candidate) -> np.ndarray:
    """What a script would do: wfdb, then NeuroKit2's own pipeline for the peaks."""
    record = wfdb.rdrecord(str(candidate.file.with_suffix("")))
    order = [record.sig_name.index(lead) for lead in LEADS]
    x_CL = record.p_signal.T[order]
    if record.fs != 500:
        x_CL = resample_poly(x_CL, 500, record.fs, axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clean = nk.ecg_clean(x_CL[0], sampling_rate=500, method="pantompkins1985")
        nk.ecg_peaks(clean, sampling_rate=500, method="pantompkins1985")
    return np.asarray(x_CL[:, :4700], np.float32)


def cropping(folder: Path) -> None:
    """A long record is cropped before it is resampled, so it costs about what a short one does."""
    rng = np.random.default_rng(0)
    for name, fs, length in (("short", 1000, 10_000), ("long", 1000, 115_200)):
        pulse = np.exp(-(((np.arange(length) / fs % 0.8 - 0.4) / 0.02) ** 2)) + rng.normal(
            0, 0.01, (12, length)
        )
        (folder / name).mkdir()
        wfdb.wrsamp(
            name, fs=fs, units=["mV"] * 12, sig_name=list(LEADS), p_signal=pulse.T, fmt=["16"] * 12,
            adc_gain=[1000.0] * 12, baseline=[0] * 12, write_dir=str(folder / name),
        )  # fmt: skip
    short, long = (find([folder / name]) * 20 for name in ("short", "long"))
    ratio = seconds(lambda: prepare_block(long, CorpusConfig())) / seconds(
        lambda: prepare_block(short, CorpusConfig())
    )
    print(f"115-s records           {ratio:8.2f}× the time of 10-s ones")


def reading(out: Path, folder: Path) -> None:
    """Bytes on disk, and whole-batch fetches beside one file per record."""
    corpus = Corpus.open(out)
    raw = len(corpus) * len(LEADS) * corpus.config.window * 2
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"bytes per record        {size / raw:8.4f}× raw int16")
    (folder / "loose").mkdir()
    for row in range(len(corpus)):
        np.save(folder / "loose" / f"{row}.npy", corpus.signals([row])[0])
    order = np.random.default_rng(0).permutation(len(corpus))
    batches = [order[first : first + BATCH] for first in range(0, len(order), BATCH)]
    ours = seconds(lambda: [corpus.signals(batch) for batch in batches])
    loose = seconds(
        lambda: [np.stack([np.load(folder / "loose" / f"{row}.npy") for row in batch]) for batch in batches]
    )
    rate = len(order) / ours
    print(f"batches of {BATCH}           {rate:8.0f} records/s, {loose / ours:.1f}× one np.load each")


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
