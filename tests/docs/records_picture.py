"""The picture of ecg-records' README: `python -m tests.docs.records_picture` writes it."""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np

import ecg_records
from ecg_synth import write_corpus

PICTURE = Path(__file__).parents[2] / "packages" / "ecg-records" / "delineation.svg"
SPANS = {"p_on p_off": ("P", "#7fb0d8"), "qrs_on qrs_off": ("QRS", "#d9827f")}
END_S = 4.0


def main() -> None:
    """Draw lead II of a synthetic ECG with the beats that `delineate` finds."""
    with TemporaryDirectory() as folder:
        write_corpus(Path(folder), 1, 3, diagnoses=("NSR",))
        record = next(scanned.record for scanned in ecg_records.scan(folder) if scanned.record)
    beats = ecg_records.delineate(record)
    signal = record.signals[list(record.leads).index("II")]
    seconds = np.arange(len(signal)) / record.fs
    plt.rcParams["svg.hashsalt"] = "ecg-records"
    figure, axes = plt.subplots(figsize=(8, 2.2), layout="constrained")
    axes.plot(seconds, signal, color="black", linewidth=0.8)
    for columns, (wave, colour) in SPANS.items():
        on, off = columns.split()
        for beat in beats[beats[on].notna() & beats[off].notna()].itertuples():
            axes.axvspan(
                getattr(beat, on) / 1000, getattr(beat, off) / 1000, color=colour, alpha=0.5, label=wave
            )
    for beat in beats[beats["t_off"].notna()].itertuples():
        axes.axvline(beat.t_off / 1000, color="#5a8f5a", linestyle="--", linewidth=0.9, label="end of T")
    names = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    axes.legend(names.values(), names, loc="upper right", ncols=3, fontsize=8)
    axes.set(xlim=(0, END_S), xlabel="s", ylabel="lead II, mV")
    figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
