"""The record that comes with the weights: `python -m tests.marecg_small.example_record` writes it."""

from pathlib import Path

import numpy as np
import wfdb

import marecg_small
from ecg_synth.record import record

CODES = "164889003"


def write(folder: Path) -> None:
    """A record of atrial fibrillation, always the same, in WFDB format 16 at 1 µV."""
    made = record("AF", rng=np.random.default_rng(4))
    wfdb.wrsamp(
        marecg_small.EXAMPLE.name,
        fs=made.fs,
        units=["mV"] * 12,
        sig_name=list(marecg_small.LEADS),
        d_signal=np.rint(made.leads_mv.T * 1000).astype(np.int16),
        fmt=["16"] * 12,
        adc_gain=[1000.0] * 12,
        baseline=[0] * 12,
        comments=[f"Dx: {CODES}", "Synthetic: no patient"],
        write_dir=str(folder),
    )


if __name__ == "__main__":
    write(marecg_small.EXAMPLE.parent)
