"""Print the tables of research/concepts/report.md, which compare ways to compute concept scores.

python -m research.concepts.tables
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from research.graph.prior.tables import estimate

from marecg.evaluate.scores.metrics import RELIABLE_COUNT, interval, mean_macro_auc, resampled_macro_auc

FOLDER = Path(__file__).parent
TASKS = ("ptbxl-super", "ptbxl-sub", "ptbxl-form", "ptbxl-rhythm")
JUDGED = "5-8"
PARTS = ("rhythm", "mean", "max", "std", "leads", "log_std", "modulation", "beat", "qrs")
SHARES = {0.01: "16", 0.1: "160", 1.0: "1,600"}
SHOWN = ("PAC", "1AVB", "PVC", "AF", "STD")
ROWS = (("zero-shot", "0"), ("concepts", "0.01"), ("concepts", "0.1"), ("full", "0.01"), ("full", "0.1"))
"""Rows of rows.npz, and the shares of the training records."""


def aucs() -> pd.DataFrame:
    """Return the AUC in percent by arm, folds, and finding or class. Rows with few positives are left out."""
    table = pd.read_csv(FOLDER / "auc.csv")
    return table[table["positives"] >= RELIABLE_COUNT].assign(auc=100 * table["auc"])


def without_labels() -> Iterator[str]:
    """Yield the table of scores without labels of the task, on the folds that no choice was made on."""
    table = aucs()
    table = table[table["folds"] == JUDGED]
    of_task = table["of"].str.startswith("ptbxl")
    findings = table[~of_task].pivot_table("auc", "of", "arm")
    tasks = table[of_task].assign(task=table["of"].str.split().str[0])
    means = tasks.groupby(["arm", "task"])["auc"].mean().unstack()[list(TASKS)]
    heads = ["concept score", f"{len(findings)} findings", "minus prototypes", "worst"]
    yield f"| {' | '.join([*heads, *(task.removeprefix('ptbxl-') for task in TASKS)])} |"
    yield "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |"
    arms = [arm for arm in findings if not arm.startswith(("ridge, part", "random"))]
    order = findings[arms].drop(columns="prototypes").mean().sort_values().index
    rows = {arm: findings[arm] for arm in ("prototypes", *order)}
    if random := [arm for arm in findings if arm.startswith("random")]:
        name = f"random encoders ({len(random)}) + ridge, beats"
        rows = {name: findings[random].mean(axis=1), **rows}
        means.loc[name] = means.loc[random].mean()
    for arm, auc in rows.items():
        gain = auc - findings["prototypes"]
        worst = f"{gain.idxmin()} {gain.min():+.1f}".replace("-", "−")
        minus = "–" if arm == "prototypes" else str(estimate(gain.to_numpy()))
        four = (
            " | ".join(f"{value:.1f}" for value in means.loc[arm]) if arm in means.index else "– | – | – | –"
        )
        yield f"| {arm} | {auc.mean():.1f} | {minus} | {'–' if arm == 'prototypes' else worst} | {four} |"


def over_records() -> tuple[float, float]:
    """Return the 95 % interval over records of the gain of `mixture` over `prototypes`, in points."""
    with np.load(FOLDER / "findings.npz") as file:
        rows = file["fold"] > 4
        y_ML = np.unpackbits(file["y"], axis=1)[:, : len(file["findings"])][rows]
        enough_L = y_ML.sum(0, dtype=int) >= RELIABLE_COUNT
        drawn = []
        for name in ("mixture", "prototypes"):
            score_ML = file[f"leaf/{name}"][rows][:, enough_L].astype(float)
            drawn.append(100 * resampled_macro_auc(y_ML[:, enough_L], score_ML[None]))
    return interval(drawn[0] - drawn[1])


def with_labels() -> Iterator[str]:
    """Yield the table of the probes that start from a concept score."""
    table = pd.read_csv(FOLDER / "probe.csv")
    table = table.assign(auc=100 * table["auc"])
    by = ["share", "arm", "task", "rotation", "draw"]
    means = table.groupby(by)["auc"].mean().groupby(by[:3]).mean().unstack()[list(TASKS)]
    yield "| labels | start from | super | sub | form | rhythm | mean |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for share, labels in SHARES.items():
        for arm in ("beats", "prototypes", "mixture", "ridge, beats"):
            row = means.loc[(share, arm)]
            figures = [*row, row.mean()]
            start = "nothing" if arm == "beats" else arm
            yield f"| {labels} | {start} | {' | '.join(f'{value:.1f}' for value in figures)} |"


def by_part() -> Iterator[str]:
    """Yield the AUC of a few findings for ridge regressions that read a single part of the readout."""
    table = aucs()
    table = table[(table["folds"] == "1-8") & table["of"].isin(SHOWN)]
    table = table.pivot_table("auc", "arm", "of")[list(SHOWN)]
    yield f"| read from | {' | '.join(SHOWN)} |"
    yield "| --- " + "| ---: " * len(SHOWN) + "|"
    rows = {"prototypes (log q)": "prototypes", "ridge on W_sca h_rhythm": "ridge, W_sca h_rhythm"}
    rows |= {f"ridge on {'h_rhythm' if part == 'rhythm' else part}": f"ridge, part {part}" for part in PARTS}
    rows |= {"ridge on all of it": "ridge, beats"}
    for title, arm in rows.items():
        yield f"| {title} | {' | '.join(f'{value:.1f}' for value in table.loc[arm])} |"


def of_rows() -> Iterator[str]:
    """Yield the table of the probe's rows with concept scores, by the prototypes alone and as shipped."""
    yield f"| labels | row | {' | '.join(task.removeprefix('ptbxl-') for task in TASKS)} | mean, gain |"
    yield "| --- | --- |" + " ---: |" * (len(TASKS) + 1)
    for row, share in ROWS:
        pairs = [(_row(task, "former", row, share), _row(task, "shipped", row, share)) for task in TASKS]
        cells = [f"{100 * before:.1f} → {100 * after:.1f}" for (before, _), (after, _) in pairs]
        mean = 100 * np.mean([after - before for (before, _), (after, _) in pairs])
        low, high = interval(100 * np.mean([after - before for (_, before), (_, after) in pairs], axis=0))
        gain = f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]".replace("-", "−")
        yield f"| {SHARES.get(float(share), 'none')} | {row} | {' | '.join(cells)} | {gain} |"


def _row(task: str, scores: str, row: str, share: str) -> tuple[float, NDArray[np.float64]]:
    """Return the macro AUC of a row, averaged over draws and rotations, and its resamples [R]."""
    with np.load(FOLDER / "rows.npz") as file:
        y_MK = np.unpackbits(file[f"{task}/y"], axis=1)[:, : len(file[f"{task}/classes"])]
        keys = [key for key in file.files if key.startswith(f"{task}/{scores}/{row}/{share}/")]
        logits_SMK = np.stack([file[key].astype(np.float64) for key in keys])
        rotation_M = file[f"{task}/rotation"]
    resampled_R = resampled_macro_auc(y_MK, logits_SMK, rotation_M=rotation_M)
    return mean_macro_auc(y_MK, logits_SMK, rotation_M), resampled_R


TABLES = (without_labels, with_labels, by_part, of_rows)
"""The tables of report.md."""


if __name__ == "__main__":
    sys.stdout.write("\n\n".join("\n".join(table()) for table in TABLES) + "\n")
    sys.stdout.write("mixture − prototypes over records: {:+.1f} to {:+.1f}\n".format(*over_records()))
