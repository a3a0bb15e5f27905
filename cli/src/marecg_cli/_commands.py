"""Construction of both command lines: Typer's groups, with a panel per stage of a user's work.

The packages' parts are imported by the commands that run them, and a command's own module when the command is
asked for; only a help page imports all of these.
"""

import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from ecg_base import refuse_address
from marecg_cli._output import set_loudness

Panels = Mapping[str, Mapping[str, Sequence[str]]]
"""What commands are for, and by module the names of those that are for it."""
SETTINGS: dict[str, Any] = {
    "no_args_is_help": True,
    "rich_markup_mode": "markdown",
    "pretty_exceptions_enable": False,
}
"""Of every group of commands."""


def application(summary: str, panels: Panels, argv: Sequence[str] = ()) -> typer.Typer:
    """Return a command line, or the part that the arguments need.

    Args:
        summary: what it is for.
        panels: its commands; each is the function, or the group, of that name in its module.
        argv: the arguments; if they begin with a command, it is the only one that is imported.
    """
    app = typer.Typer(help=summary, context_settings={"help_option_names": ["-h", "--help"]}, **SETTINGS)
    app.callback()(_of_all)
    places = [
        (name, module, panel)
        for panel, modules in panels.items()
        for module, names in modules.items()
        for name in names
    ]
    chosen = [place for place in places if place[0] in argv[:1]]
    for name, module, panel in chosen or places:
        command = getattr(import_module(f"marecg_cli.{module}"), name.replace("-", "_"))
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=panel)
        else:
            app.command(name, rich_help_panel=panel)(command)
    return app


def tree(app: typer.Typer) -> TyperGroup:
    """Return the command group. Its commands accept -q and -v, and refuse a URL as a path."""
    group = cast(TyperGroup, typer.main.get_command(app))
    loudness = [param for param in group.params if param.name in ("quiet", "verbose")]
    (help_settings,) = (param for param in group.params if param.name == "help_settings")
    group.params.remove(help_settings)
    for command in _leaves(group):
        for param in command.params:
            of_paths = param.type_descriptor.annotation in (Path, list[Path]) or param.name == "out"
            param.callback = param.callback or (_refuse_address if of_paths else None)
        if any(param.name == "set_" for param in command.params):
            command.params.append(help_settings)
        command.params += loudness
    return group


def _list_settings(context: typer.Context, asked: bool) -> None:
    """List what `--set` can change in the command, and exit."""
    if not asked:
        return
    from marecg_cli._settings import described

    rows = [
        (key, default and f"[{default}]", text) for key, default, text in described(context.info_name or "")
    ]
    wide = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for key, default, text in rows:
        typer.echo(f"{key:<{wide[0]}}  {default:<{wide[1]}}  {text}".rstrip())
    raise typer.Exit


def _leaves(group: TyperGroup) -> Iterator[Any]:
    for command in group.commands.values():
        yield from _leaves(command) if isinstance(command, TyperGroup) else [command]


def _refuse_address(_: object, option: Any, value: Any) -> Any:
    """A path, or several, as given. Raises `UsageError`."""
    for path in value if isinstance(value, list | tuple) else [value]:
        if isinstance(path, Path):
            refuse_address(path, f"is an address, and {option.name.rstrip('_')} takes a path")
        elif path is not None:
            remedy = "Write it with two slashes, as s3://bucket/folder"
            refuse_address(path, "is neither a path nor an address", remedy)
    return value


def _print_versions(asked: bool) -> None:
    if asked:
        from importlib.metadata import distributions

        installed = {distribution.name: distribution.version for distribution in distributions()}
        names = [name for name in ("marecg-cli", "ecg-ontology", "marecg", "torch") if name in installed]
        typer.echo(
            ", ".join(
                [f"{name} {installed[name]}" for name in names] + [f"Python {platform.python_version()}"]
            )
        )
        raise typer.Exit


def _of_all(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_versions, help="Print the versions and exit."
        ),
    ] = False,
    help_settings: Annotated[
        bool,
        typer.Option(
            "--help-settings",
            is_eager=True,
            expose_value=False,
            callback=_list_settings,
            help="List what --set can change, with defaults, and exit.",
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            expose_value=False,
            callback=lambda given: set_loudness(-1) if given else None,
            help="Print only results and errors.",
        ),
    ] = False,
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose",
            "-v",
            count=True,
            expose_value=False,
            show_default=False,
            callback=lambda given: set_loudness(given) if given else None,
            help="Show progress details; -vv adds debug output and tracebacks.",
        ),
    ] = 0,
) -> None:
    """What stands before the name of a command."""
