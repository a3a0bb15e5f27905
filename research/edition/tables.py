"""Print the tables of the second edition from the logits in scores/.

python -m research.edition.tables

"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from research.concepts.rows import TASKS
from research.length import tables as length
from research.length.tables import SHARES, Figures

SCORES = Path(__file__).parent / "scores"
"""Folder `choose` has the logits on folds 5 and 6, and `confirm` those on folds 7 and 8."""
LABELS = {"choose": {"0.01": "10", "0.1": "100", "1": "1,000"}, "confirm": SHARES}
"""About how many labelled ECGs each share has, by folder."""
FOLDS = {"choose": "5, 6", "confirm": "7, 8"}
"""Test folds by folder."""
PARTS = (0, 1 / 4, 1 / 3, 1 / 2, 1)
"""Shares of MiniRocket in an average."""
BASE = "run-1430-0"
ARMS = {
    BASE: "base, seed 0",
    "run-1430-1": "base, seed 1",
    "codes-0": "codes",
    "dense-0": "dense",
    "paper-0": "paper",
    "synth3-0": "synth3",
    "stem-0": "stem",
    "s4d-0": "s4d",
}
"""Titles of the arms by the name of their scores."""
VARIANTS = {
    "resnet1d": "ResNet1d",
    "s4": "S4D as it was",
    "crops": "crops of 2.5 s",
    "kernel": "first convolution of 16 samples",
    "max": "pooling by mean and maximum",
    "slow": "learning rate 0.001 for the state spaces",
    "batch": "batch norm",
    "crops-max": "crops and maximum",
    "crops-max-60": "crops and maximum, 60 epochs",
    "crops-max-128": "crops and maximum, width 128",
    "crops-max-batch": "crops and maximum, batch norm",
}
"""Settings of the supervised networks by the name of their scores, in order of training."""
TUNED, SEEDS = "s4-tuned", 3
"""Name of the chosen variant's scores on folds 7 and 8, and number of seeds there."""
S4D = f"{TUNED}-0"
"""Name of the scores on all tasks."""


def place(folder: str, name: str) -> Path:
    """Return the file of an encoder's logits. Those of the twin on folds 7 and 8 are in length/scores."""
    path = SCORES / folder / f"{name}.npz"
    return length.SCORES / path.name if folder == "confirm" and not path.exists() else path


def figures(folder: str, parts: Sequence[tuple[str, str, float]], share: str) -> Figures:
    """Return the figures of a weighted sum of logits, over classes with enough positives.

    Args:
        folder: `choose` or `confirm`.
        parts: encoders, their rows, and the weights of these.
        share: share of the labels.
    """
    files = tuple((place(folder, name), row, weight) for name, row, weight in parts)
    return length.figures_of(files, share)


def with_rocket(folder: str, encoder: str, part: float, share: str) -> Figures:
    """Return the figures of `full`, averaged with MiniRocket."""
    mixture = ((encoder, "full", 1 - part), ("minirocket", "minirocket", part))
    return figures(folder, [each for each in mixture if each[2]], share)


def rocket(folder: str, encoder: str = BASE) -> Iterator[str]:
    """Yield the table of `full`, averaged with MiniRocket."""
    yield "| labels | MiniRocket's share | super | sub | form | rhythm | mean | minus `full` |"
    yield "|---:|---:|" + "---:|" * (len(TASKS) + 2)
    for share, labels in LABELS[folder].items():
        alone = with_rocket(folder, encoder, 0, share)
        for part in PARTS:
            mixed = with_rocket(folder, encoder, part, share)
            cells = " | ".join(f"{auc:.1f}" for auc in (*mixed.task_T, mixed.mean))
            yield f"| {labels} | {part:.2f} | {cells} | {mixed - alone if part else '–'} |"


def teachers() -> Iterator[str]:
    """Yield the table of the ridge regressions, zero-shot and `full`, minus the beat readout's."""
    yield "| folds | row | labels | regression on | super | sub | form | rhythm | mean | minus beats |"
    yield "|---|---|---:|---|" + "---:|" * (len(TASKS) + 2)
    rows = [("choose", "zero-shot", "0", "none", name) for name in ("beats", "full", "views")]
    rows += [("confirm", "zero-shot", "0", "none", name) for name in ("beats", "views")]
    rows += [("confirm", "full", share, labels, "views") for share, labels in SHARES.items()]
    for folder, row, share, labels, name in rows:
        before = (BASE, row) if row == "full" else ("teacher-beats", row)
        found, former = (figures(folder, [(*key, 1)], share) for key in ((f"teacher-{name}", row), before))
        cells = " | ".join(f"{auc:.1f}" for auc in (*found.task_T, found.mean))
        gain = "–" if name == "beats" else str(found - former)
        yield f"| {FOLDS[folder]} | {row} | {labels} | {name} | {cells} | {gain} |"


def arm(name: str, row: str, share: str) -> Figures:
    """Return the figures of an arm's row on folds 5 and 6. Share `mean` is the mean of all three shares."""
    if share == "mean":
        return length.mean([arm(name, row, one) for one in SHARES])
    return figures("choose", [(name, row, 1)], share)


def arms() -> Iterator[str]:
    """Yield the table of the arms: the mean of the four tasks, minus the base of seed 0."""
    present = {name: title for name, title in ARMS.items() if place("choose", name).exists()}
    yield f"| arm | row | {' | '.join(LABELS['choose'].values())} | mean | minus base |"
    yield "|---|---|" + "---:|" * (len(SHARES) + 2)
    for row, shares in {"full": (*SHARES, "mean"), "beats": (*SHARES, "mean"), "zero-shot": ("0",)}.items():
        for name, title in present.items():
            means = [arm(name, row, share) for share in shares]
            gain = "–" if name == BASE else str(means[-1] - arm(BASE, row, shares[-1]))
            cells = ["–"] * (len(SHARES) + 1 - len(means)) + [f"{mean.mean:.1f}" for mean in means]
            yield f"| {title} | {row} | {' | '.join(cells)} | {gain} |"


def supervised() -> Iterator[str]:
    """Yield the table of the supervised networks on super, with all labels: choosing, then confirming."""
    yield "| folds | network | super | minus ResNet1d |"
    yield "|---|---|---:|---:|"
    rows = [("choose", title, [name], ["resnet1d"]) for name, title in VARIANTS.items()]
    ours, theirs = ([f"{name}-{seed}" for seed in range(SEEDS)] for name in (TUNED, "resnet1d"))
    for seed in range(SEEDS):
        rows.append(("confirm", f"ResNet1d, seed {seed}", [theirs[seed]], [theirs[seed]]))
        rows.append(("confirm", f"S4D, tuned, seed {seed}", [ours[seed]], [theirs[seed]]))
    rows.append(("confirm", "S4D, tuned, mean of the seeds", ours, theirs))
    for folder, title, names, others in rows:
        found, former = (length.mean([on_super(folder, name) for name in each]) for each in (names, others))
        gain = "–" if names == others else found - former
        yield f"| {FOLDS[folder]} | {title} | {found.mean:.1f} | {gain} |"


def on_super(folder: str, name: str) -> Figures:
    """Return the figures of a supervised network on super alone, with all labels."""
    return length.figures_of(((place(folder, name), name, 1.0),), "1", tasks=TASKS[:1])


def beside_full() -> Iterator[str]:
    """Yield the table of `full`, the tuned S4D and MiniRocket on folds 7 and 8, with all labels."""
    yield "| method | super | sub | form | rhythm | mean | minus `full` |"
    yield "|---|" + "---:|" * (len(TASKS) + 2)
    ours = figures("confirm", [("teacher-views", "full", 1)], "1")
    rows = {
        "`full`": ("teacher-views", "full"),
        "S4D": (S4D, S4D),
        "MiniRocket": ("minirocket", "minirocket"),
    }
    for title, key in rows.items():
        found = figures("confirm", [(*key, 1)], "1")
        cells = " | ".join(f"{auc:.1f}" for auc in (*found.task_T, found.mean))
        yield f"| {title} | {cells} | {'–' if found is ours else found - ours} |"


def tables() -> Iterator[str]:
    """Yield the tables of report.md."""
    for table in (rocket("choose"), rocket("confirm"), teachers(), arms(), supervised(), beside_full()):
        yield "\n".join(table)


if __name__ == "__main__":
    sys.stdout.write("\n\n".join(tables()) + "\n")
