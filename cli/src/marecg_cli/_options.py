"""Define the options and arguments that several commands share."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ecg_base import InputError, UsageError


def local_path(where: str) -> Path:
    """Return a local path unchanged. Download an address such as s3://… and return the path of the copy."""
    if "://" not in where:
        return Path(where)
    from ecg_records.storage.copies import ensure_local

    return ensure_local(where)


def _local(context: typer.Context, where: str | None) -> Path | None:
    return None if where is None or context.resilient_parsing else local_path(where)


LOCAL: dict[str, Any] = {"parser": str, "callback": _local, "metavar": "PATH"}
"""Keyword arguments for an option that accepts a path or an address, such as s3://bucket/corpus."""


def refuse_missing(*paths: Path | str | None) -> None:
    """Raise `InputError` if a path doesn't exist. Addresses aren't checked.

    Commands call this function first, so that a wrong path fails before slow imports.
    """
    for path in paths:
        if path is not None and "://" not in str(path) and not Path(path).exists():
            raise InputError("no such file or folder", where=path, remedy="Check its name and folder")


def one_of(values: Callable[[], Iterable[str]]) -> dict[str, Any]:
    """Return keyword arguments for a Typer option whose values the shell completes.

    `values` is only called for the completion, so it may import a slow package.
    """
    return {"autocompletion": lambda incomplete: [name for name in values() if name.startswith(incomplete)]}


def set_option(text: str) -> Any:
    """Return the repeatable option `--set KEY=VALUE` with the given help text."""
    return typer.Option("--set", metavar="KEY=VALUE", help=text)


def recipe_names() -> list[str]:
    """Return the names of all recipes."""
    from marecg.base.plugins import offered_names
    from marecg.recipes import RECIPES

    return [*RECIPES, *offered_names("recipe")]


def task_names() -> list[str]:
    """Return the names of all tasks, and `all`."""
    from marecg.evaluate.tasks.registry import ALL, TASKS

    return [*TASKS, ALL]


As = Annotated[Literal["text", "json"], typer.Option("--format", help="Output format.")]
Profile = Annotated[
    Literal["paper", "curated"],
    typer.Option(help="paper: routing of codes in the paper; curated: with corrections of the curators."),
]
Readout = Literal["rhythm", "wide", "beats", "full"]
"""Choices of the vector that an encoder returns for a record. Copied from `marecg.embedding.embed.Readout`,
which is slow to import."""
Corpus = Annotated[Path, typer.Argument(**LOCAL, help="Corpus written by `marecg prepare`.")]
Data = Annotated[Path, typer.Option(**LOCAL, help="Corpus written by `marecg prepare`.")]
Tasks = Annotated[
    list[str] | None,
    typer.Option(
        "--task",
        help="ptbxl-super, ptbxl-sub, ptbxl-form, ptbxl-rhythm, cpsc2018, corpus (the leaves of a "
        "prepared corpus), all (the five published tasks) or FILE.py:NAME; may be repeated. "
        "[default: ptbxl-super]",
        **one_of(task_names),
    ),
]
ROOT: dict[str, Any] = {
    "metavar": "[DATA=]PATH",
    "help": "Folder with the data of the task. For several data sets: --root ptbxl=PATH --root "
    "cpsc2018=PATH.",
}
"""Keyword arguments for the option --root."""
ReportFolder = Annotated[Path | None, typer.Option(help="Folder of the report. [default: the run folder]")]
Fs = Annotated[float | None, typer.Option(help="Sampling rate of array files in Hz.")]
Leads = Annotated[
    str,
    typer.Option(
        metavar="NAME=LEAD,…",
        help="Standard leads for signals with other names, for example MLII=II,V5=V5.",
    ),
]
Log = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TRACKER",
        help="Also log to tensorboard, wandb or mlflow; may be repeated. Needs the extra of the same "
        "name. wandb is offline unless WANDB_MODE=online.",
        **one_of(lambda: ("tensorboard", "wandb", "mlflow")),
    ),
]


def shares(texts: Iterable[str] | None) -> tuple[float, ...]:
    """Parse shares of the training records, such as `0.1,1`. Raises `UsageError` if one isn't a number."""
    try:
        return tuple(float(word) for text in texts or () for word in text.split(","))
    except ValueError as error:
        raise UsageError(f"{error.args[0]}", remedy="Write shares such as --fraction 0.01,0.1,1") from error


def by_group(group: str, assignments: Iterable[str] | None) -> tuple[list[str], list[str]]:
    """Split `KEY=VALUE` texts into texts whose key starts with `group`, and all other texts."""
    assignments = list(assignments or ())
    in_group = [text for text in assignments if text.startswith(group)]
    return in_group, [text for text in assignments if text not in in_group]
