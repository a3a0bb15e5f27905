"""How recipes stand, in print: equal records and equal FLOPs side by side, costs, what differs."""

from collections.abc import Sequence

from marecg.evaluate.cost import Cost
from marecg.evaluate.leaderboard import Standing
from marecg.evaluate.table import share
from marecg.nn.collapse import COLLAPSED

TERA = 1e12
NOTE = (
    "Macro AUC in percent, averaged over tasks and seeds, from h_rhythm, or from the mean of H where no loss "
    "trains h_rhythm's pool. Above and below: in how many cells (tasks by shares) the 95 % interval of the "
    "paired difference to the first recipe lies wholly on one side of zero; in the others the two can't be "
    "told apart. Records, TFLOPs and seconds are those of a run with equal records, the mean over seeds."
)
ABSENT = "–"


def heads_and_lines(standings: Sequence[Standing]) -> tuple[list[str], list[list[str]]]:
    """One line per recipe; without runs of equal FLOPs those columns are left out."""
    names = list(dict.fromkeys(one.name for one in standings))
    shares = sorted({at for one in standings for at in one.means})
    cut = {one.name: one for one in standings if one.flops}
    alike = {one.name: one for one in standings if not one.flops}
    kinds = [("equal records", alike)] if alike else []
    kinds += [("equal FLOPs", cut)] if cut else []
    heads = ["recipe", "runs", *(f"{share(at)}, {what}" for at in shares for what, _ in kinds)]
    heads += ["above / below the first", "records", "TFLOPs", "seconds", "rank of h_rhythm"]
    lines = []
    for name in names:
        one = alike.get(name) or cut[name]
        means = [_mean(of.get(name), at) for at in shares for _, of in kinds]
        lines.append(
            [_named(one), str(one.runs), *means, _apart(one), *_cost(one.cost, one.runs), _rank(one)]
        )
    return heads, lines


def markdown(standings: Sequence[Standing]) -> str:
    """A Markdown table, with the note that it needs."""
    heads, lines = heads_and_lines(standings)
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, rule, *lines)) + f"\n\n{NOTE}\n"


def _named(one: Standing) -> str:
    fallen = one.rank is not None and one.rank < COLLAPSED
    return one.name + ("†" if one.leaked else "") + (" (collapsed)" if fallen else "")


def _mean(one: Standing | None, at: float) -> str:
    return f"{one.means[at]:.1f}" if one and at in one.means else ABSENT


def _apart(one: Standing) -> str:
    if not one.differences:
        return ABSENT
    above, below = one.apart
    return f"{above} / {below} of {len(one.differences)}"


def _cost(cost: Cost | None, runs: int) -> list[str]:
    if cost is None:
        return [ABSENT] * 3
    seconds = ABSENT if cost.seconds is None else f"{cost.seconds / runs:,.0f}"
    return [f"{cost.records / runs:,.0f}", f"{cost.flops / runs / TERA:,.2f}", seconds]


def _rank(one: Standing) -> str:
    return ABSENT if one.rank is None else f"{one.rank:.1f}"
