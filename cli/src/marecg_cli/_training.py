"""Define the commands `marecg train`, `marecg demo` and `marecg recipes`."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ecg_base import UsageError
from marecg_cli._options import Data, Log, one_of, recipe_names, refuse_missing, set_option
from marecg_cli._output import console, message, result, result_json

Values = Mapping[str, Any]
ABSENT = "not in this recipe"
OPEN = "–"
"""Text that is printed for the value `None`."""
TABLE_WIDTH = 80
"""Maximum width of the list of recipes, in columns."""


def train(
    data: Data,
    out: Annotated[Path, typer.Option(help="Run folder to write.")],
    recipe: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of a recipe (see `marecg recipes`), mine.toml or mine.py:recipe. [default: "
            "tiny, or the recipe of the weights given by --from]",
            **one_of(recipe_names),
        ),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="WEIGHTS",
            help="Initial weights: run, model folder, marecg-small, or owner/name on the hub.",
        ),
    ] = None,
    set_: Annotated[list[str] | None, set_option("Change a value of the recipe; may be repeated.")] = None,
    resume: Annotated[
        bool | None,
        typer.Option(
            "--resume/--fresh",
            help="Require an existing run in --out, or require that --out contains no run. By default, an "
            "existing run is resumed.",
        ),
    ] = None,
    extend: Annotated[
        bool,
        typer.Option(
            "--extend",
            help="Continue the run in --out to a larger train.max_steps or train.max_epochs.",
        ),
    ] = False,
    log: Log = None,
) -> None:
    """Pretrain an encoder; run the command again to continue after an interruption.

    Example: marecg train --recipe tiny --data corpus --out runs/c3 --set train.max_steps=200

    Example: marecg train --from marecg-small --data corpus --out runs/c3 --set train.lr=5e-4
    """
    from marecg.base.offers import RECIPES
    from marecg.base.plugins import refuse_unknown
    from marecg.model.names import local_folder

    refuse_missing(data)
    if recipe and not recipe.endswith(".toml"):
        refuse_unknown(recipe, RECIPES, "recipe")
    if from_:
        local_folder(from_)
    from marecg.recipes import by_name
    from marecg.train.run import train
    from marecg.train.warm_start import recipe_for

    changes = set_ or []
    config = recipe_for(from_, recipe, changes) if from_ else by_name(recipe or "tiny", changes)
    run = train(config, data, out, start=from_, resume=resume, extend=extend, loggers=log or ())
    message(
        f"Trained {run.steps} steps"
        + (f", {run.skipped_steps} skipped because of non-finite gradients." if run.skipped_steps else ".")
    )
    result(str(run.folder / "model"))


def demo(out: Annotated[Path, typer.Option(help="Folder for all results.")] = Path("marecg-demo")) -> None:
    """Run the whole pipeline on synthetic ECGs: synthesise, prepare, train, probe, report.

    Example: marecg demo
    """
    from marecg.report.demo import demo
    from marecg_cli._scores_text import demo_text

    result(demo_text(demo(out)))


def recipes(
    recipe: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="Recipe to show with all values, or mine.toml.", **one_of(recipe_names)
        ),
    ] = None,
    form: Annotated[
        Literal["text", "json", "toml"],
        typer.Option("--format", help="Output format; toml prints a recipe for `marecg train`."),
    ] = "text",
) -> None:
    """List the recipes and their differences, or all values of a recipe with their sources.

    Example: marecg recipes c3

    Example: marecg recipes c3 --format toml
    """
    from ecg_records.readers.entry_points import offered
    from marecg.objectives.registry import installed
    from marecg.recipes import RECIPES, Config, by_name
    from marecg.recipes.overrides import as_toml
    from marecg.settings import Settings, source_of, sources

    makers = RECIPES | dict(offered("marecg.recipes"))
    chosen = {recipe: by_name(recipe)} if recipe else {name: make() for name, make in makers.items()}
    if form == "toml":
        if recipe is None:
            raise UsageError(
                "--format toml needs the name of a recipe",
                remedy="For example, marecg recipes c3 --format toml",
            )
        result(as_toml(chosen[recipe]).rstrip())
        return
    value_sources = dict(sources(Config))
    for prefix, settings in installed().items():
        value_sources |= dict(sources(settings, f"{prefix}."))
    built = {name: config.model_dump(mode="json") for name, config in chosen.items()}
    if form == "json":
        result_json({"recipes": built, "sources": value_sources})
        return
    base = next(iter(RECIPES))
    if recipe:
        base_values = by_name(base).model_dump(mode="json")
        groups = {name: group for name, group in dict(chosen[recipe]).items() if isinstance(group, Settings)}
        value_sources |= {
            f"{name}.{key}": source_of(group, key) for name, group in groups.items() for key in dict(group)
        }
        print_recipe(built[recipe], base, base_values, value_sources)
        return
    variants = [name for name in makers if name not in RECIPES and name.startswith(("tiny-", "small-"))]
    names = [name for name in makers if name not in variants]
    print_recipes(
        {name: built[name] for name in names}, {name: _summary(name, makers[name]) for name in names}
    )
    if variants:
        message(f"Smaller variants: {', '.join(variants)}.")
    message("Run marecg recipes NAME to see all values of a recipe with their sources.")


def flat(values: Values, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all values of a nested recipe with dotted keys, such as `train.lr`.

    An objective that the recipe doesn't use is a single value, `None`. `prefix` is put before the keys.
    """
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def changes(values: Values, base: Values) -> dict[str, Any]:
    """Return the values of a recipe, except its name, that differ from a base recipe, by dotted key."""
    base_by_key = dict(flat(base))
    return {
        key: value
        for key, value in flat(values)
        if key != "name" and (key not in base_by_key or base_by_key[key] != value)
    }


def print_recipes(recipes: Mapping[str, Values], summaries: Mapping[str, str]) -> None:
    """Print all recipes with their summaries (by name) and their differences from the first recipe."""
    from rich.markup import escape
    from rich.table import Table

    base_name, base = next(iter(recipes.items()))
    table, size_of = Table.grid(padding=(0, 2, 0, 0)), dict[tuple[str, ...], str]()
    for name, values in recipes.items():
        lines = [summaries[name]]
        added = [key for key, value in values.items() if isinstance(value, dict) and not base.get(key)]
        if added:
            lines.append(f"with {', '.join(added)}")
        rest = tuple(
            f"{key}\u00a0{value}"
            for key, value in changes(values, base).items()
            if key.partition(".")[0] not in added
        )
        if rest in size_of:
            lines.append(f"same size as {size_of[rest]}")
        elif rest:
            size_of[rest] = name
            lines.append(f"different from {base_name}: {', '.join(rest)}")
        table.add_row(f"[bold]{name}[/bold]", escape("\n".join(lines)))
    out = console()
    out.print(table, width=min(out.width, TABLE_WIDTH))


def print_recipe(values: Values, base_name: str, base: Values, sources: Mapping[str, str]) -> None:
    """Print every value of a recipe with its source. Differences from the base recipe come first."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    changed = changes(values, base)
    parts = {
        f"Different from {base_name}": [key for key, _ in flat(values) if key in changed],
        f"Same as in {base_name}": [key for key, _ in flat(values) if key not in changed],
    }
    by_key = dict(flat(values))
    for title, keys in parts.items():
        if not keys:
            continue
        table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
        table.add_column("value", no_wrap=True)
        table.add_column("", overflow="fold")
        table.add_column("source")
        for key in keys:
            absent = OPEN if "." in key else ABSENT
            table.add_row(key, absent if by_key[key] is None else str(by_key[key]), sources.get(key, ""))
        console().print(table)


def _summary(name: str, make: Callable[..., object]) -> str:
    """Return the description of a built-in recipe, or the first line of the docstring of another recipe."""
    from marecg.base.offers import RECIPES
    from marecg.objectives.registry import installed

    if name in RECIPES:
        return RECIPES[name]
    documented = installed().get(make.args[-1], make) if isinstance(make, partial) else make
    return (documented.__doc__ or "").partition("\n")[0].removeprefix("Return ")
