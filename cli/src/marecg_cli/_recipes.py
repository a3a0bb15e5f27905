"""`marecg recipes`: what makes each recipe its own, or one whole, with the source of every value."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Annotated, Any, Literal

import typer

from ecg_ontology import UsageError
from marecg_cli._options import one_of, recipe_names
from marecg_cli._output import console, message, result, result_json

Values = Mapping[str, Any]
ABSENT = "not part of it"
OPEN = "–"
"""A value that is not given."""
COLUMNS = 80
"""Prose is broken there, however wide the terminal."""


def recipes(
    recipe: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="One as a whole; or mine.toml.", **one_of(recipe_names)),
    ] = None,
    form: Annotated[
        Literal["text", "json", "toml"], typer.Option("--format", help="toml prints one, as train reads it.")
    ] = "text",
) -> None:
    """Show what makes each recipe its own, or one of them as a whole, each value with its source.

    Example: marecg recipes c3

    Example: marecg recipes c3 --format toml
    """
    from marecg.base.config import Settings, source_of, sources
    from marecg.objectives.registry import installed
    from marecg.recipes import COMPARISON, RECIPES, Config, by_name
    from marecg.recipes.overrides import as_toml

    chosen = {recipe: by_name(recipe)} if recipe else {name: make() for name, make in RECIPES.items()}
    if form == "toml":
        if recipe is None:
            raise UsageError("TOML is of one recipe", remedy="Name it: marecg recipes c3 --format toml")
        result(as_toml(chosen[recipe]).rstrip())
        return
    value_sources = dict(sources(Config))
    for prefix, kind in installed().items():
        value_sources |= dict(sources(kind, f"{prefix}."))
    built = {name: config.model_dump(mode="json") for name, config in chosen.items()}
    if form == "json":
        result_json({"recipes": built, "sources": value_sources})
        return
    base = next(iter(RECIPES))
    if recipe:
        whole = by_name(base).model_dump(mode="json")
        groups = {name: each for name, each in dict(chosen[recipe]).items() if isinstance(each, Settings)}
        value_sources |= {
            f"{name}.{key}": source_of(each, key) for name, each in groups.items() for key in dict(each)
        }
        print_recipe(built[recipe], base, whole, value_sources)
        return
    others = [name for name in COMPARISON if name.startswith(("tiny-", "small-"))]
    shown = [name for name in RECIPES if name not in others]
    print_recipes({name: built[name] for name in shown}, {name: _about(RECIPES[name]) for name in shown})
    message(f"Other methods and controls have smaller sizes too: {', '.join(others)}.")
    message("marecg recipes NAME shows one as a whole, each value with its source.")


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
    table, size_of = Table.grid(padding=(0, 2, 0, 0)), dict[tuple[str, ...], str]()
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
        if rest in size_of:
            lines.append(f"at the size of {size_of[rest]}")
        elif rest:
            size_of[rest] = name
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


def _about(make: Callable[..., object]) -> str:
    """The first line of what builds a recipe; of one at another size, which one that is."""
    from marecg.objectives.registry import COMPARATORS

    if isinstance(make, partial) and make.args[-1] in COMPARATORS:
        return (COMPARATORS[make.args[-1]].__doc__ or "").partition("\n")[0]
    if isinstance(make, partial):
        return f"{make.args[0].__name__} at a size for two CPU cores."
    return (make.__doc__ or "").partition("\n")[0]
