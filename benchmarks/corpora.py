"""Provide synthetic corpora for the benchmarks. Each is made once per process.

Shapes: C leads, L samples.
"""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import wfdb

from ecg_records.signal.leads import LEADS
from ecg_synth import write_corpus
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus


@cache
def workspace() -> Path:
    """Return a folder for this process, which is removed when the process ends."""
    return Path(_temporary().name)


@cache
def records(number: int, seed: int = 0) -> Path:
    """Return a folder of synthetic WFDB records."""
    folder = workspace() / f"records-{number}-{seed}"
    write_corpus(folder, number, seed)
    return folder


@cache
def prepared(number: int) -> Corpus:
    """Return a prepared corpus of synthetic records."""
    folder = workspace() / f"corpus-{number}"
    prepare([records(number)], folder, jobs=1)
    return Corpus.open(folder)


@cache
def long_record(samples: int, fs: int = 1000) -> Path:
    """Return a folder with a single long record: pulses at 75 per minute, with a little noise."""
    folder = workspace() / f"samples-{samples}"
    folder.mkdir()
    rng = np.random.default_rng(0)
    into_beat_L = np.arange(samples) / fs % 0.8 - 0.4
    x_CL = np.exp(-((into_beat_L / 0.02) ** 2)) + rng.normal(0, 0.01, (len(LEADS), samples))
    wfdb.wrsamp(
        "record",
        fs=fs,
        units=["mV"] * len(LEADS),
        sig_name=list(LEADS),
        p_signal=x_CL.T,
        fmt=["16"] * len(LEADS),
        adc_gain=[1000.0] * len(LEADS),
        baseline=[0] * len(LEADS),
        write_dir=str(folder),
    )
    return folder


@cache
def _temporary() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="marecg-bench-")
