"""Build the command lines `marecg` and `ecgonto` from Typer commands.

A panel is a titled group of commands on the help page. For speed, the module of a command is imported only if
the command runs, or for the help page of all commands. Command functions import the packages that they need.
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
"""Names of the commands by title of the panel and by module."""
SETTINGS: dict[str, Any] = {
    "no_args_is_help": True,
    "rich_markup_mode": "markdown",
    "pretty_exceptions_enable": False,
}
"""Settings of every group of commands."""


def application(summary: str, panels: Panels, argv: Sequence[str] = ()) -> typer.Typer:
    """Return a command line with all commands, or with the single command that the arguments name.

    Args:
        summary: purpose of the command line.
        panels: the commands by panel and module. The module has an attribute with the name of each command: a
            function, or a Typer application for a group of commands.
        argv: the arguments. If the first argument is a command, no other command is imported.
    """
    app = typer.Typer(help=summary, context_settings={"help_option_names": ["-h", "--help"]}, **SETTINGS)
    app.callback()(_main_options)
    commands = [
        (name, module, panel)
        for panel, modules in panels.items()
        for module, names in modules.items()
        for name in names
    ]
    chosen = [command for command in commands if command[0] in argv[:1]]
    for name, module, panel in chosen or commands:
        function = getattr(import_module(f"marecg_cli.{module}"), name.replace("-", "_"))
        if isinstance(function, typer.Typer):
            app.add_typer(function, name=name, rich_help_panel=panel)
        else:
            app.command(name, rich_help_panel=panel)(function)
    return app


def tree(app: typer.Typer) -> TyperGroup:
    """Return the Click group of all commands, with common behaviour added.

    Every command accepts -q and -v. Paths must be local, except for options that also accept addresses.
    """
    group = cast(TyperGroup, typer.main.get_command(app))
    loudness = [param for param in group.params if param.name in ("quiet", "verbose")]
    (help_settings,) = (param for param in group.params if param.name == "help_settings")
    group.params.remove(help_settings)
    for command in _leaves(group):
        for param in command.params:
            is_path = param.type_descriptor.annotation in (Path, list[Path]) or param.name == "out"
            param.callback = param.callback or (_refuse_address if is_path else None)
        if any(param.name == "set_" for param in command.params):
            command.params.append(help_settings)
        command.params += loudness
    return group


def _list_settings(context: typer.Context, requested: bool) -> None:
    """List the settings that `--set` can change in the command, and exit."""
    if not requested:
        return
    from marecg_cli._settings import described

    rows = [
        (key, default and f"[{default}]", text) for key, default, text in described(context.info_name or "")
    ]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for key, default, text in rows:
        typer.echo(f"{key:<{widths[0]}}  {default:<{widths[1]}}  {text}".rstrip())
    raise typer.Exit


def _leaves(group: TyperGroup) -> Iterator[Any]:
    for command in group.commands.values():
        yield from _leaves(command) if isinstance(command, TyperGroup) else [command]


def _refuse_address(_: object, option: Any, value: Any) -> Any:
    """Return a path or a list of paths unchanged. Raises `UsageError` if one is an address."""
    for path in value if isinstance(value, list | tuple) else [value]:
        if isinstance(path, Path):
            refuse_address(path, f"is an address, but {option.name.rstrip('_')} must be a path")
        elif path is not None:
            remedy = "Write an address with two slashes, for example s3://bucket/folder"
            refuse_address(path, "is neither a path nor an address", remedy)
    return value


def _print_versions(requested: bool) -> None:
    if requested:
        from importlib.metadata import distributions

        installed = {distribution.name: distribution.version for distribution in distributions()}
        names = [name for name in ("marecg-cli", "ecg-ontology", "marecg", "torch") if name in installed]
        typer.echo(
            ", ".join(
                [f"{name} {installed[name]}" for name in names] + [f"Python {platform.python_version()}"]
            )
        )
        raise typer.Exit


def _main_options(
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
            help="List the settings that --set can change, with defaults, and exit.",
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            expose_value=False,
            callback=lambda quiet: set_loudness(-1) if quiet else None,
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
            callback=lambda count: set_loudness(count) if count else None,
            help="Show progress details; -vv adds debug output and tracebacks.",
        ),
    ] = 0,
) -> None:
    """Define the options that stand before the name of a command, such as --version."""
