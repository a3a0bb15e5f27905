"""Print the tables of report.md from scores.npz.

    python -m research.graph.coarse.tables

Axes of the stored arrays: half, arm, k, draw, finding. The arms are `exact`, `real`, `abnormal` and the
shuffled graphs. Of `all`: half, without or with families alone, finding. Of `answers`: graph (the real one
first), and the numbers of families, answers and right answers.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from research.graph.prior.tables import HOSPITALS, Floats, estimate

SCORES = Path(__file__).with_name("scores.npz")
COUNTS = (1, 2, 5)
EXACT, REAL, ABNORMAL, FIRST_SHUFFLE = range(4)
SHUFFLE_COUNT, SHUFFLE_DRAWS = slice(1, 2), 2
NAMES = {"marecg-small": "marecg-small", "random-0": "random encoder"}


class Scores:
    """Scores of one encoder in one hospital, AUC in percent."""

    def __init__(self, encoder: str, hospital: str) -> None:
        with np.load(SCORES) as file:
            key = f"{encoder}/{hospital}"
            self.findings = file[f"{key}/findings"].tolist()
            self.arms = 100 * file[f"{key}/arms"].astype(np.float64)
            self.every = 100 * file[f"{key}/all"].astype(np.float64)
            self.answers: NDArray[np.int64] = file[f"{key}/answers"]

    def mean(self, arm: int, draws: int | None = None, k: slice = slice(None)) -> Floats:
        """Return the AUC of each finding: mean over halves, draws and k."""
        return np.asarray(np.nanmean(self.arms[:, arm, k, :draws], axis=(0, 1, 2)))

    def shuffled(self) -> tuple[float, Floats]:
        """Return the mean gain over `exact` of the real graph and of each shuffled one, on equal draws."""
        exact = self.mean(EXACT, SHUFFLE_DRAWS, SHUFFLE_COUNT)
        arms = [REAL, *range(FIRST_SHUFFLE, self.arms.shape[1])]
        gains = [float((self.mean(arm, SHUFFLE_DRAWS, SHUFFLE_COUNT) - exact).mean()) for arm in arms]
        return gains[0], np.array(gains[1:])


def each() -> Iterator[tuple[str, str, Scores]]:
    """Yield the features' name, the hospital's name and the scores."""
    for encoder, name in NAMES.items():
        for hospital, where in HOSPITALS.items():
            yield name, where, Scores(encoder, hospital)


def signed(value: float) -> str:
    """Format a difference."""
    return f"{value:+.1f}".replace("-", "−")


def gains() -> Iterator[str]:
    """Yield the table of the primary endpoint."""
    yield "| features | hospital | findings | exact | real | real − exact | worst | real − abnormal |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: |"
    for name, where, of in each():
        gain = of.mean(REAL) - of.mean(EXACT)
        worst = f"{of.findings[gain.argmin()]} {signed(gain.min())}"
        yield (
            f"| {name} | {where} | {len(of.findings)} | {of.mean(EXACT).mean():.1f} "
            f"| {of.mean(REAL).mean():.1f} | {estimate(gain)} | {worst} "
            f"| {estimate(of.mean(REAL) - of.mean(ABNORMAL))} |"
        )


def by_count() -> Iterator[str]:
    """Yield the table of real − exact by k, beside all codes."""
    gains = " | ".join(f"k = {k}" for k in COUNTS)
    yield f"| features | hospital | {gains} | exact, k = 5 | real, k = 5 | all codes |"
    yield "| --- | --- |" + " ---: |" * (len(COUNTS) + 3)
    for name, where, of in each():
        places = [slice(k, k + 1) for k in range(len(COUNTS))]
        cells = [str(estimate(of.mean(REAL, k=k) - of.mean(EXACT, k=k))) for k in places]
        ends = [of.mean(arm, k=places[-1]).mean() for arm in (EXACT, REAL)] + [of.every[:, 0].mean()]
        yield f"| {name} | {where} | {' | '.join(cells)} | {' | '.join(f'{end:.1f}' for end in ends)} |"


def shuffles() -> Iterator[str]:
    """Yield the table of the real graph beside shuffled ones."""
    yield "| hospital | graphs | real − exact | shuffled, mean | shuffled, best | p |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for _, where, of in each():
        real, others = of.shuffled()
        if len(others):
            p = (1 + (others >= real).sum()) / (1 + len(others))
            cells = [signed(value) for value in (real, others.mean(), others.max())]
            yield f"| {where} | {len(others)} | {' | '.join(cells)} | {p:.2f} |"


def alone() -> Iterator[str]:
    """Yield the table of statements that name only a family."""
    yield "| features | hospital | without | with | difference | worst |"
    yield "| --- | --- | ---: | ---: | ---: | --- |"
    for name, where, of in each():
        without, added = of.every.mean(0)
        gain = added - without
        worst = f"{of.findings[gain.argmin()]} {signed(gain.min())}"
        yield f"| {name} | {where} | {without.mean():.2f} | {added.mean():.2f} | {estimate(gain)} | {worst} |"


def answers() -> Iterator[str]:
    """Yield the table of families as answers."""
    yield "| features | hospital | recognised | wrong | shuffled: recognised, mean | best | wrong, mean | p |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name, where, of in each():
        has, answered, right = of.answers.T
        recognised, wrong = right / has, 1 - right / np.maximum(answered, 1)
        p = np.mean(recognised >= recognised[0])
        cells = [recognised[0], wrong[0], recognised[1:].mean(), recognised[1:].max(), wrong[1:].mean()]
        yield f"| {name} | {where} | {' | '.join(f'{100 * cell:.1f} %' for cell in cells)} | {p:.2f} |"


TABLES = (gains, by_count, shuffles, alone, answers)


if __name__ == "__main__":
    print("\n\n".join("\n".join(table()) for table in TABLES))
