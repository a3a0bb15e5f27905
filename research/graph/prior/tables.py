"""Print the tables on the score of a finding's group as a prior, when k records of the finding are labelled.

    python -m research.graph.prior.tables [--from OUT]

With `--from OUT`, the files that `research.graph.prior.run` wrote to OUT are first packed into one file.
Plain labels are a ridge regression without a prior. `always` adds the prior with weight ¼. `gated` adds it
only if it improves the scores of the finding's siblings in the teaching half.

Axes of the stored arrays: finding, half, draw, k, graph, weight. An AUC is stored as round(65535 · AUC).
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

SCORES = Path(__file__).with_name("scores.npz")
ENCODERS = {
    "marecg-small": ("marecg-small",),
    "random encoders": tuple(f"random-{seed}" for seed in range(5)),
    "MiniRocket": ("minirocket",),
}
HOSPITALS = {"ptbxl": "PTB-XL", "others": "other hospitals"}
GRAPHS = ("real", "scp", "co-occurrence", "abnormal", "looks")
COUNTS = (1, 2, 5, 10, 20)
FEW = 3
"""Number of values of k, from the smallest, over which the primary endpoint is averaged."""
FULL_SCALE = 65_535
RULES = ("gated", "always")
EVERY_RULE = ("always", "gated", "by weight")
SHUFFLED = {"shuffles": "all leaves", "within": "leaves outside Normal"}
Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """Mean over findings with the half width of its 95 % t interval."""

    mean: float
    half_width: float

    def __str__(self) -> str:
        return f"{self.mean:+.1f} ± {self.half_width:.1f}".replace("-", "−")


def estimate(values: Floats) -> Estimate:
    """Return the mean of finite values and the half width of its interval."""
    values = values[np.isfinite(values)]
    quantile = stats.t.ppf(0.975, len(values) - 1)
    return Estimate(float(values.mean()), float(quantile * values.std(ddof=1) / np.sqrt(len(values))))


class Scores:
    """Scores of one encoder in one hospital, as read from the packed file."""

    def __init__(self, file: Mapping[str, NDArray[np.generic]], key: str) -> None:
        def auc(name: str) -> Floats:
            values = file[f"{key}/{name}"].astype(np.float64)
            return np.where(values == 0, np.nan, 100 * values / FULL_SCALE)

        self.findings = [str(name) for name in file[f"{key}/findings"]]
        self.labels = auc("labels")
        self.prior = auc("prior")
        self.sibling = file[f"{key}/sibling"].astype(np.float64)
        self.over_labels = auc("over_labels") if f"{key}/over_labels" in file else None
        self.over_prior = auc("over_prior") if f"{key}/over_prior" in file else None

    @classmethod
    def of(cls, file: Mapping[str, NDArray[np.generic]], encoder: str, hospital: str) -> "Scores | None":
        """Return the scores of the real graph, alone or with other graphs; None if they weren't computed."""
        keys = [f"{stage}/{encoder}/{hospital}" for stage in ("real", "family")]
        key = next((key for key in keys if f"{key}/labels" in file), None)
        return None if key is None else cls(file, key)

    def gain(
        self, graph: int = 0, rule: str = "gated", counts: slice = slice(FEW), over: bool = False
    ) -> Floats:
        """Return the gain over plain labels by finding, a mean over halves, draws and k."""
        labels, prior = (self.over_labels, self.over_prior) if over else (self.labels, self.prior)
        added = (prior - labels[..., None, None])[..., graph, :]
        sibling = self.sibling[..., graph, :]
        if rule == "always":
            gain = added[..., 0]
        elif rule == "gated":
            gain = np.where(sibling[..., 0] > 0, added[..., 0], np.where(np.isnan(added[..., 0]), np.nan, 0))
        else:
            choice = np.concatenate([np.zeros_like(sibling[..., :1]), sibling], -1).argmax(-1)
            every = np.concatenate([np.zeros_like(added[..., :1]) * added[..., :1], added], -1)
            gain = np.take_along_axis(every, choice[..., None], -1)[..., 0]
        gain = gain[:, :, :, counts]
        known = np.isfinite(gain)
        return np.where(known, gain, 0).sum((1, 2, 3)) / np.where(
            known.any((1, 2, 3)), known.sum((1, 2, 3)), np.nan
        )


def pack(out: Path) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of all files that `run` wrote, packed.

    Of shuffled graphs the mean gains are kept: float16 [rule, graph, finding], the real graph first.
    """
    packed: dict[str, NDArray[np.generic]] = {}
    shuffles: dict[str, list[NDArray[np.float16]]] = {}
    for path in sorted(out.glob("*.npz"), key=_first_seed):
        stage, _, rest = path.stem.partition("-")
        if stage not in ("real", "family", "own", "shuffles", "within"):
            continue
        encoder = "-".join(rest.split("-")[:-1])
        with np.load(path) as file:
            hospitals = {name.partition("/")[0] for name in file}
            for hospital in hospitals:
                fields = {
                    name.partition("/")[2].partition("_DK")[0]: _stored(values)
                    for name, values in file.items()
                    if name.startswith(f"{hospital}/") and (stage == "real" or "/over" not in name)
                }
                if stage in SHUFFLED:
                    scores = Scores({f"x/{name}": values for name, values in fields.items()}, "x")
                    graphs = range(scores.prior.shape[4])
                    gains = [[scores.gain(g, rule) for g in graphs] for rule in RULES]
                    shuffles.setdefault(f"{stage}/{hospital}", []).append(np.array(gains, np.float16))
                else:
                    packed |= {
                        f"{stage}/{encoder}/{hospital}/{name}": values for name, values in fields.items()
                    }
    for key, parts in shuffles.items():
        packed[key] = np.concatenate([parts[0], *(part[:, 1:] for part in parts[1:])], axis=1)
    return packed


def _first_seed(path: Path) -> tuple[str, int]:
    words = path.stem.split("-")
    return words[0], int(words[1]) if words[0] in SHUFFLED else 0


def _stored(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Round AUC to 16 bits and gains of siblings to float16; leave names and penalties."""
    if values.dtype != np.float32:
        return values
    if (values < 0).any() or not (values > 0.2).any():
        return (100 * values).astype(np.float16)
    return np.nan_to_num(np.round(values * FULL_SCALE)).astype(np.uint16)


def by_encoder(file: Mapping[str, NDArray[np.generic]]) -> Iterator[str]:
    """Yield the table of the primary endpoint: the prior of the real graph, for each set of features.

    Random encoders have one row: each finding's mean over them.
    """
    yield "| features | hospital | findings | labels | always ¼ | gated ¼ | worst, gated | by weight |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: |"
    for title, encoders in ENCODERS.items():
        for hospital, where in HOSPITALS.items():
            found = [of for name in encoders if (of := Scores.of(file, name, hospital)) is not None]
            if not found:
                continue
            gains = {rule: np.mean([of.gain(rule=rule) for of in found], axis=0) for rule in EVERY_RULE}
            worst = int(gains["gated"].argmin())
            least = f"{found[0].findings[worst]} {gains['gated'][worst]:+.1f}".replace("-", "−")
            labels = np.mean([np.nanmean(of.labels[:, :, :, :FEW]) for of in found])
            name = f"{title} ({len(found)})" if len(encoders) > 1 else title
            always, gated, weighted = (estimate(gains[rule]) for rule in EVERY_RULE)
            head = f"| {name} | {where} | {len(gains['gated'])} | {labels:.1f} |"
            yield f"{head} {always} | {gated} | {least} | {weighted} |"


def by_penalty(file: Mapping[str, NDArray[np.generic]]) -> Iterator[str]:
    """Yield the table with the penalty α that is best for plain labels on the same hospital."""
    yield "| α chosen on the hospital itself | labels | always ¼ | gated ¼ |"
    yield "| --- | ---: | ---: | ---: |"
    for hospital, title in HOSPITALS.items():
        if f"own/marecg-small/{hospital}/labels" not in file:
            continue
        scores = Scores(file, f"own/marecg-small/{hospital}")
        labels = np.nanmean(scores.labels[:, :, :, :FEW])
        always, gated = (estimate(scores.gain(rule=rule)) for rule in ("always", "gated"))
        yield f"| {title} | {labels:.1f} | {always} | {gated} |"


def by_graph(file: Mapping[str, NDArray[np.generic]]) -> Iterator[str]:
    """Yield the table of priors by groups from other graphs."""
    yield "| group of a finding | hospital | always ¼ | gated ¼ | real − it, gated |"
    yield "| --- | --- | ---: | ---: | ---: |"
    for hospital, title in HOSPITALS.items():
        scores = Scores.of(file, "marecg-small", hospital)
        if scores is None:
            continue
        for graph, name in enumerate(GRAPHS):
            always, gated = (estimate(scores.gain(graph, rule)) for rule in ("always", "gated"))
            less = estimate(scores.gain() - scores.gain(graph)) if graph else "–"
            yield f"| {name} | {title} | {always} | {gated} | {less} |"


def by_count(file: Mapping[str, NDArray[np.generic]]) -> Iterator[str]:
    """Yield the table of gains for each k, on the same and on the other hospital."""
    yield f"| gated ¼, by k | {' | '.join(map(str, COUNTS))} | tested on the other hospital, k = 1, 2, 5 |"
    yield "| --- " + "| ---: " * (len(COUNTS) + 1) + "|"
    for hospital, title in HOSPITALS.items():
        scores = Scores.of(file, "marecg-small", hospital)
        if scores is None:
            continue
        gains = [estimate(scores.gain(counts=slice(c, c + 1))) for c in range(len(COUNTS))]
        yield f"| {title} | {' | '.join(map(str, gains))} | {estimate(scores.gain(over=True))} |"


def by_shuffle(file: Mapping[str, NDArray[np.generic]]) -> Iterator[str]:
    """Yield the table of shuffled graphs, on the first draws."""
    yield "| exchanged | rule | hospital | graphs | real | mean | best | p |"
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for stage, what in SHUFFLED.items():
        for hospital, title in HOSPITALS.items():
            if f"{stage}/{hospital}" not in file:
                continue
            for rule, gain_GF in zip(RULES, file[f"{stage}/{hospital}"].astype(float), strict=True):
                real, *others = gain_GF.mean(1)
                p = (1 + sum(other >= real for other in others)) / (1 + len(others))
                figures = [
                    f"{value:+.2f}".replace("-", "−") for value in (real, np.mean(others), max(others))
                ]
                yield f"| {what} | {rule} ¼ | {title} | {len(others)} | {' | '.join(figures)} | {p:.3f} |"


def by_finding(file: Mapping[str, NDArray[np.generic]]) -> Iterator[str]:
    """Yield the table of gains for each finding, by the rules `always` and `gated`."""
    yield "| finding | hospital | labels alone | always ¼ | gated ¼ | prior used |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for hospital, title in HOSPITALS.items():
        scores = Scores.of(file, "marecg-small", hospital)
        if scores is None:
            continue
        labels_F = np.nanmean(scores.labels[:, :, :, :FEW], axis=(1, 2, 3))
        used_F = (scores.sibling[:, :, :, :FEW, 0, 0] > 0).mean(axis=(1, 2, 3))
        rows = zip(scores.findings, labels_F, scores.gain(rule="always"), scores.gain(), used_F, strict=True)
        for name, labels, always, gated, used in rows:
            gains = f"{always:+.1f} | {gated:+.1f}".replace("-", "−")
            yield f"| {name} | {title} | {labels:.1f} | {gains} | {100 * used:.0f} % |"


TABLES = (by_encoder, by_penalty, by_shuffle, by_graph, by_count)
"""The tables of report.md."""


def report(file: Mapping[str, NDArray[np.generic]]) -> str:
    """Return all tables."""
    return "\n\n".join("\n".join(table(file)) for table in (*TABLES, by_finding)) + "\n"


def main(*arguments: str) -> None:
    """Pack the scores if asked, and print the tables."""
    if arguments[:1] == ("--from",):
        np.savez_compressed(SCORES, **pack(Path(arguments[1])))
    with np.load(SCORES) as file:
        sys.stdout.write(report(dict(file)))


if __name__ == "__main__":
    main(*sys.argv[1:])
