"""Write the true intervals and heights of the synthetic records of a prepared corpus.

    python -m research.edition.dense_targets CORPUS SEED TARGETS

The records are made again without noise. TARGETS is an npy file with z-scores, float32 [M, V], a row per
record of the corpus, NaN where a value is unknown and in other records. The values are PR, QRS and QT in
seconds, and per lead the largest and smallest height within QRS, the ST level 60 ms after QRS, and the height
of T. Heights are relative to the level before QRS, in units of the lead's standard deviation, since the
encoder reads normalised leads. A value is the median over beats.

Shapes: M records of the corpus, V values, N beats, C leads, L samples.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ecg_synth import DIAGNOSES, LEADS, Noise, SyntheticRecord, drawn_record

INTERVALS = 3
HEIGHTS = 4
BEFORE_S, ST_S, AFTER_S = 0.01, 0.06, 0.1
"""Seconds from the level to QRS onset, from QRS end to the ST level, and from QRS end to the search of T."""


def main(corpus: str, seed: str, out: str) -> None:
    """Write the targets of a corpus, whose synthetic records are called S00001 and so on."""
    index = pq.read_table(Path(corpus) / "index.parquet", columns=["id", "source"]).to_pydict()
    value_MV = np.full((len(index["id"]), INTERVALS + HEIGHTS * len(LEADS)), np.nan)
    shares = {name: finding.weight for name, finding in DIAGNOSES.items()}
    for row, (name, source) in enumerate(zip(index["id"], index["source"], strict=True)):
        if source == "synth":
            rng = np.random.default_rng((int(seed), int(Path(name).name.removeprefix("S")) - 1))
            value_MV[row] = values(drawn_record(shares, rng, noise=Noise().times(0)))
    z_MV = (value_MV - np.nanmean(value_MV, 0)) / np.nanstd(value_MV, 0)
    np.save(out, z_MV.clip(-5, 5).astype(np.float32))


def values(made: SyntheticRecord) -> NDArray[np.float64]:
    """Return the values of a record, [V]."""
    beats = made.beats
    lengths = (
        beats.qrs_onset - beats.p_onset,
        beats.qrs_offset - beats.qrs_onset,
        beats.t_end - beats.qrs_onset,
    )
    x_CL = made.leads_mv / made.leads_mv.std(1, keepdims=True)
    last = x_CL.shape[1] / made.fs
    heights = []
    for onset, offset, t_end in zip(beats.qrs_onset, beats.qrs_offset, beats.t_end, strict=True):
        if onset < BEFORE_S or not offset + AFTER_S + 0.02 < t_end < last:
            continue
        start, j_point, level, st, after, end = (
            round(time * made.fs)
            for time in (onset, offset, onset - BEFORE_S, offset + ST_S, offset + AFTER_S, t_end)
        )
        beat_CL = x_CL - x_CL[:, level, None]
        t_CL = beat_CL[:, after:end]
        t_C = np.take_along_axis(t_CL, np.abs(t_CL).argmax(1)[:, None], 1)[:, 0]
        qrs_CL = beat_CL[:, start : j_point + 1]
        heights.append([qrs_CL.max(1), qrs_CL.min(1), beat_CL[:, st], t_C])
    height_V = np.median(heights, 0).ravel() if heights else np.full(HEIGHTS * len(LEADS), np.nan)
    return np.r_[[np.nanmedian(each) if np.isfinite(each).any() else np.nan for each in lengths], height_V]


if __name__ == "__main__":
    main(*sys.argv[1:])
