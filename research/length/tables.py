"""Print the tables on encoders that were trained for different lengths, from the logits in scores/.

    python -m research.length.tables

Shapes: M test records, K classes, S draws, R resamples.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from research.concepts.rows import TASKS

from marecg.evaluate.scores.metrics import (
    RELIABLE_COUNT,
    RESAMPLES,
    Floats,
    interval,
    mean_macro_auc,
    scorable,
    weighted_macro_auc,
)

SCORES = Path(__file__).parent / "scores"
SHARES = {"0.01": "16", "0.1": "160", "1": "1,600"}
RANDOM = sorted(path.stem for path in SCORES.glob("random-*.npz"))


@dataclass(frozen=True)
class Figures:
    """Macro AUC in percent of T tasks, and its resamples, [T] and [T, R]."""

    task_T: Floats
    resample_TR: Floats

    def __sub__(self, other: "Figures") -> "Figures":
        """Return the difference, resample by resample."""
        return Figures(self.task_T - other.task_T, self.resample_TR - other.resample_TR)

    @property
    def mean(self) -> float:
        """Return the mean of the tasks."""
        return float(self.task_T.mean())

    def __str__(self) -> str:
        """Return the mean of the tasks as a gain, with its 95 % interval."""
        low, high = interval(self.resample_TR.mean(0))
        return f"{self.mean:+.1f} [{low:+.1f}, {high:+.1f}]".replace("-", "−")


@cache
def weights(records: tuple[str, ...]) -> dict[str, NDArray[np.float64]]:
    """Return the weights [R] of each test record, which all tasks share (Bayesian bootstrap)."""
    drawn_RM = np.random.default_rng(0).exponential(size=(RESAMPLES, len(records)))
    return dict(zip(records, drawn_RM.T, strict=True))


def figures(encoder: str, row: str, share: str, *, every_class: bool = False) -> Figures:
    """Return the figures of an encoder's row at a share of the labels, over reliable classes or all."""
    return figures_of(((SCORES / f"{encoder}.npz", row, 1.0),), share, every_class=every_class)


@cache
def figures_of(
    parts: tuple[tuple[Path, str, float], ...],
    share: str,
    *,
    every_class: bool = False,
    tasks: Sequence[str] = TASKS,
) -> Figures:
    """Return the figures of a weighted sum of logits on the same test records.

    Args:
        parts: files of logits, the row that is read from each, and its weight.
        share: share of the labels.
        every_class: whether all classes with positives count, or only reliable ones.
        tasks: tasks of the figures.
    """
    estimates, resampled = [], []
    with ExitStack() as stack:
        files = [(stack.enter_context(np.load(path)), row, weight) for path, row, weight in parts]
        first = files[0][0]
        records = {task: first[f"{task}/records"].tolist() for task in tasks}
        weight_of = weights(tuple(sorted(set(chain(*records.values())))))
        for task in tasks:
            y_MK = np.unpackbits(first[f"{task}/y"], axis=1)[:, : len(first[f"{task}/classes"])]
            enough_K = scorable(y_MK) if every_class else y_MK.sum(0, dtype=int) >= RELIABLE_COUNT
            logits_SMK = sum(
                weight * np.stack([file[key].astype(np.float64) for key in keys_of(file, task, row, share)])
                for file, row, weight in files
            )[..., enough_K]
            weight_RM = np.stack([weight_of[record] for record in records[task]], axis=1)
            estimates.append(100 * mean_macro_auc(y_MK[:, enough_K], logits_SMK))
            resampled.append(100 * weighted_macro_auc(y_MK[:, enough_K], logits_SMK, weight_RM))
    return Figures(np.array(estimates), np.array(resampled))


def keys_of(file: Mapping[str, NDArray[Any]], task: str, row: str, share: str) -> list[str]:
    """Return the keys of a row's logits, one per draw of the training records."""
    return [key for key in file if key.startswith(f"{task}/{row}/{share}/")]


def mean_of(encoders: Sequence[str], row: str, share: str, *, every_class: bool = False) -> Figures:
    """Return the mean of several encoders' figures."""
    return mean([figures(name, row, share, every_class=every_class) for name in encoders])


def mean(each: Sequence[Figures]) -> Figures:
    """Return the mean of several figures."""
    task_T = np.mean([figure.task_T for figure in each], axis=0)
    return Figures(task_T, np.mean([figure.resample_TR for figure in each], axis=0))


def by_length() -> Iterator[str]:
    """Yield the table of the lengths: the mean of the four tasks, and each length minus 1,430 steps."""
    names = sorted((path.stem for path in SCORES.glob("run-*.npz")), key=lambda name: int(name.split("-")[1]))
    yield f"| steps | seed | row | {' | '.join(SHARES.values())} | minus 1,430 steps, 1,600 labels |"
    yield "|---:|---:|---|" + "---:|" * (len(SHARES) + 1)
    for row in ("full", "beats"):
        for name in names:
            _, steps, seed = name.split("-")
            cells = [f"{figures(name, row, share).mean:.1f}" for share in SHARES]
            gained = figures(name, row, "1") - figures(f"run-1430-{seed}", row, "1")
            gain = "–" if steps == "1430" else str(gained)
            yield f"| {int(steps):,} | {seed} | {row} | {' | '.join(cells)} | {gain} |"


def gains(*, every_class: bool = False) -> Iterator[str]:
    """Yield the table of MiniRocket, random weights and pretrained weights by number of labels."""
    heads = ["MiniRocket", "random weights", "pretrained", "pretrained − random", "pretrained − MiniRocket"]
    yield f"| labelled ECGs | {' | '.join(heads)} |"
    yield "|---:|" + "---:|" * len(heads)
    for share, labels in SHARES.items():
        rocket = figures("minirocket", "minirocket", share, every_class=every_class)
        random = mean_of(RANDOM, "full", share, every_class=every_class)
        ours = figures("run-1430-0", "full", share, every_class=every_class)
        yield (
            f"| {labels} | {rocket.mean:.1f} | {random.mean:.1f} | {ours.mean:.1f} | {ours - random} "
            f"| {ours - rocket} |"
        )


def random_seeds() -> str:
    """Return the mean of the four tasks of each random encoder with all labels, in rising order."""
    return ", ".join(f"{mean:.1f}" for mean in sorted(figures(name, "full", "1").mean for name in RANDOM))


def by_task() -> Iterator[str]:
    """Yield the four tasks with all labels, over classes with enough positives."""
    yield "| read from | super | sub | form | rhythm | mean |"
    yield "|---|---:|---:|---:|---:|---:|"
    rows: dict[str, tuple[Sequence[str], str]] = {
        "pretrained, full": (["run-1430-0"], "full"),
        "pretrained, concepts": (["run-1430-0"], "concepts"),
        "pretrained, beats": (["run-1430-0"], "beats"),
        "random weights, full": (RANDOM, "full"),
        "random weights, beats": (RANDOM, "beats"),
        "MiniRocket": (["minirocket"], "minirocket"),
    }
    for title, (names, row) in rows.items():
        mean = mean_of(names, row, "1")
        yield f"| {title} | {' | '.join(f'{auc:.1f}' for auc in (*mean.task_T, mean.mean))} |"


def concept_scores() -> Iterator[str]:
    """Yield the table of the rows that read concept scores, by the prototypes alone and as shipped."""
    yield "| labels | row | super | sub | form | rhythm | mean, gain |"
    yield "|---|---|" + "---:|" * (len(TASKS) + 1)
    rows = [("none", "zero-shot", "0")]
    rows += [(labels, row, share) for row in ("concepts", "full") for share, labels in SHARES.items()]
    for labels, row, share in rows:
        before, after = (figures("run-1430-0", row + suffix, share) for suffix in (", prototypes", ""))
        cells = [f"{a:.1f} → {b:.1f}" for a, b in zip(before.task_T, after.task_T, strict=True)]
        yield f"| {labels} | {row} | {' | '.join(cells)} | {after - before} |"


def classes() -> str:
    """Return how many classes of each task are reliable, of those with positives."""
    counts = []
    with np.load(SCORES / "minirocket.npz") as file:
        for task in TASKS:
            y_MK = np.unpackbits(file[f"{task}/y"], axis=1)[:, : len(file[f"{task}/classes"])]
            enough = int((y_MK.sum(0, dtype=int) >= RELIABLE_COUNT).sum())
            name = task.removeprefix("ptbxl-")
            counts.append(f"{name} {enough} of {int(scorable(y_MK).sum())} ({len(y_MK)} records)")
    return ", ".join(counts)


TABLES = (gains, by_task, concept_scores, by_length)
"""Tables of report.md, of which the first two are on docs/pretrained.md as well."""


if __name__ == "__main__":
    sys.stdout.write("\n\n".join("\n".join(table()) for table in TABLES) + "\n\n")
    sys.stdout.write("all classes:\n" + "\n".join(gains(every_class=True)) + "\n\n")
    sys.stdout.write(f"classes: {classes()}\nrandom weights: {random_seeds()}\n")
