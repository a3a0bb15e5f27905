"""Options and arguments that mean the same in every command that takes them."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ecg_ontology import UsageError

if TYPE_CHECKING:
    from ecg_ontology import CodeMapping, CodeTable
    from marecg.read.array_layout import Layout


def local_path(where: str) -> Path:
    """A path as it is; of an address the copy of what lies there."""
    if "://" not in where:
        return Path(where)
    from marecg.storage.copies import ensure_local

    return ensure_local(where)


def _local(context: typer.Context, where: str | None) -> Path | None:
    return None if where is None or context.resilient_parsing else local_path(where)


LOCAL: dict[str, Any] = {"parser": str, "callback": _local, "metavar": "PATH"}
"""The settings of an option that takes a path or an address such as s3://bucket/corpus."""


def one_of(values: Callable[[], Iterable[str]]) -> dict[str, Any]:
    """The settings of an option whose values are a closed set that a package knows, and refuses others by.

    A shell completes them; until then nothing is imported.
    """
    return {"autocompletion": lambda incomplete: [each for each in values() if each.startswith(incomplete)]}


def set_option(text: str) -> Any:
    """`--set KEY=VALUE`, which may be repeated, with its help."""
    return typer.Option("--set", metavar="KEY=VALUE", help=text)


def recipe_names() -> list[str]:
    """Recipes that have a name."""
    from marecg.recipes import RECIPES

    return list(RECIPES)


def task_names() -> list[str]:
    """Tasks of a probe, and all of them together."""
    from marecg.evaluate.tasks.registry import ALL, TASKS

    return [*TASKS, ALL]


As = Annotated[Literal["text", "json"], typer.Option("--format", help="How to print the result.")]
Profile = Annotated[
    Literal["paper", "curated"],
    typer.Option(help="paper: four codes as the paper prints them; curated: doubts decided."),
]
Readout = Literal["rhythm", "wide", "beats"]
"""What is read from an encoder as one vector of a record; `marecg.use.embed.Readout` without torch."""
Corpus = Annotated[Path, typer.Argument(**LOCAL, help="A corpus that `marecg prepare` wrote.")]
Data = Annotated[Path, typer.Option(**LOCAL, help="A corpus that `marecg prepare` wrote.")]
Tasks = Annotated[
    list[str] | None,
    typer.Option(
        "--task",
        help="ptbxl-super, -sub, -form, -rhythm, cpsc2018, corpus (the leaves of a prepared corpus), or all, "
        "which is the five published ones; FILE.py:NAME for your own; repeatable. [default: ptbxl-super]",
        **one_of(task_names),
    ),
]
ROOT: dict[str, Any] = {
    "metavar": "[DATA=]PATH",
    "help": "The task's data: PTB-XL, cpsc_2018, or a prepared corpus. Of tasks on several data sets one "
    "each: --root ptbxl=PATH --root cpsc2018=PATH.",
}
"""The settings of an option that takes the data of tasks."""
ReportFolder = Annotated[Path | None, typer.Option(help="Where the report goes. [default: the run folder]")]
Fs = Annotated[float | None, typer.Option(help="Sampling rate of arrays in Hz.")]
Log = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TRACKER",
        help="Follow the run in tensorboard, wandb or mlflow as well; may be repeated. Needs the extra of "
        "that name. Only WANDB_MODE=online and MLFLOW_TRACKING_URI make it ask for a network.",
        **one_of(lambda: ("tensorboard", "wandb", "mlflow")),
    ),
]
ArraySettings = Annotated[
    list[str] | None,
    set_option(
        "What else is to be said of arrays; may be repeated: array.leads=I,II,V2 (the usual twelve "
        "without), array.units=mV, uV, V or adc, array.gain=200 (units per mV, for adc), array.key=NAME (one "
        "array of several)."
    ),
]


def count(text: str) -> int:
    """A number of things, from 1 on. Raises `ValueError`."""
    if int(text) < 1:
        raise ValueError(text)
    return int(text)


def settings(
    assignments: Iterable[str] | None, readers: Mapping[str, Callable[[str], Any]], group: str = ""
) -> dict[str, Any]:
    """What `--set KEY=VALUE` says, each value read by the reader of its key.

    Args:
        assignments: as on the command line.
        readers: by key; of a group without its name.
        group: what all keys begin with, such as `array.`.

    Raises:
        UsageError: there is no such key, or the value isn't one of its kind.
    """
    values: dict[str, Any] = {}
    for each in assignments or ():
        name, _, text = each.partition("=")
        key = name.removeprefix(group)
        if key not in readers or not name.startswith(group):
            remedy = f"Choose from {', '.join(group + key for key in readers)}"
            raise UsageError(f"there is no value named {name!r}", where=f"--set {each}", remedy=remedy)
        try:
            values[key] = readers[key](text)
        except (KeyError, ValueError) as error:
            raise UsageError(f"{text!r} isn't a value of {name}", where=f"--set {each}") from error
    return values


def by_group(group: str, assignments: Iterable[str] | None) -> tuple[list[str], list[str]]:
    """The assignments whose keys begin so, and the others."""
    listed = list(assignments or ())
    inside = [each for each in listed if each.startswith(group)]
    return inside, [each for each in listed if each not in inside]


def array_layout(fs: float | None, assignments: Iterable[str] | None) -> "Layout | None":
    """What was said of arrays; None where no rate was. Raises `UsageError`."""
    from marecg.read.array_layout import Layout

    values = settings(assignments, {"leads": _names, "units": str, "gain": float, "key": str}, "array.")
    if fs is None and values:
        raise UsageError("array.leads and the like are of arrays", remedy="Add --fs, in samples per second")
    return None if fs is None else Layout(fs, **values)


def code_settings(assignments: Iterable[str] | None) -> dict[str, Any]:
    """What `--set codes.KEY=VALUE` says of a table of codes, as `read_code_table` takes it."""
    columns = dict.fromkeys(("id_column", "code_column", "patient_column", "vocabulary"), str)
    return settings(assignments, {**columns, "mapping": local_path, "concepts": local_path}, "codes.")


def codes_of(table: Path | None, assignments: Iterable[str]) -> "CodeTable | CodeMapping | None":
    """The table that was named; without one the mapping alone, if there is any.

    Raises `UsageError` or `InputError` as `read_code_table`, or columns are named of no table.
    """
    from ecg_ontology import CodeMapping, read_code_table

    values = code_settings(assignments)
    if table is not None:
        return read_code_table(table, **values)
    if values.keys() - {"mapping"}:
        raise UsageError("codes.id_column and the like are of a table of codes", remedy="Name it as --codes")
    return CodeMapping.read(values["mapping"]) if values else None


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
