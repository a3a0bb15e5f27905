"""Recipes as a reader wants them: what makes each its own, and one whole with the source of every value."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from marecg_cli._output import console

if TYPE_CHECKING:
    from marecg.recipes import Config

Values = Mapping[str, Any]
ABSENT = "not part of it"
OPEN = "–"
"""A value that is not given."""
COLUMNS = 80
"""Prose is broken there, however wide the terminal."""


def flat(values: Values, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with its dotted key; an objective that a recipe lacks is one value, None."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def changes(values: Values, base: Values) -> dict[str, Any]:
    """The values that differ from those of another recipe, by dotted key, without its name."""
    before = dict(flat(base))
    return {
        key: value
        for key, value in flat(values)
        if key != "name" and (key not in before or before[key] != value)
    }


def print_recipes(recipes: Mapping[str, Values], about: Mapping[str, str]) -> None:
    """What each recipe is, and what it changes in the first one."""
    from rich.markup import escape
    from rich.table import Table

    base_name, base = next(iter(recipes.items()))
    table, told = Table.grid(padding=(0, 2, 0, 0)), dict[tuple[str, ...], str]()
    for name, values in recipes.items():
        lines = [about[name]]
        added = [key for key, value in values.items() if isinstance(value, dict) and not base.get(key)]
        if added:
            lines.append(f"with {', '.join(added)}")
        rest = tuple(
            f"{key}\u00a0{value}"
            for key, value in changes(values, base).items()
            if key.partition(".")[0] not in added
        )
        if rest in told:
            lines.append(f"at the size of {told[rest]}")
        elif rest:
            told[rest] = name
            lines.append(f"other than {base_name}: {', '.join(rest)}")
        table.add_row(f"[bold]{name}[/bold]", escape("\n".join(lines)))
    out = console()
    out.print(table, width=min(out.width, COLUMNS))


def print_recipe(values: Values, base_name: str, base: Values, sources: Mapping[str, str]) -> None:
    """Every value of a recipe with its source, those first that differ from the base."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    changed = changes(values, base)
    parts = {
        f"Other than in {base_name}": [key for key, _ in flat(values) if key in changed],
        f"As in {base_name}": [key for key, _ in flat(values) if key not in changed],
    }
    own = dict(flat(values))
    for title, keys in parts.items():
        if not keys:
            continue
        table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
        table.add_column("value", no_wrap=True)
        table.add_column("", no_wrap=True)
        table.add_column("source")
        for key in keys:
            absent = OPEN if "." in key else ABSENT
            table.add_row(key, absent if own[key] is None else str(own[key]), sources.get(key, ""))
        console().print(table)


def print_costs(recipes: "Mapping[str, Config]", records: int, tflops: float) -> None:
    """The arithmetic of each recipe's whole run on so many records, and how long it takes at that speed."""
    from rich.table import Table

    from marecg.evaluate.cost import expected

    table = Table("recipe")
    for head in ("records per step", "GFLOP per record", "PFLOP in all", f"hours at {tflops:g} TFLOP/s"):
        table.add_column(head, justify="right")
    for name, config in recipes.items():
        cost = expected(config, records, tflops * 1e12)
        step = config.train.batch_size * config.train.accumulate
        seconds = cost.seconds or 0.0
        told = (f"{step}", f"{config.step_flops() / 1e9:,.1f}", f"{cost.flops / 1e15:,.1f}")
        table.add_row(name, *told, f"{seconds / 3600:,.2f}")
    console().print(table)
