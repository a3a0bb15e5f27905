"""How both command lines are built: Typer's groups, with a panel of commands for every stage of a user's way.

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

from ecg_ontology import refuse_address
from marecg_cli._output import set_loudness

Panels = Mapping[str, Mapping[str, Sequence[str]]]
"""What commands are for, and by module the names of those that are for it."""
SETTINGS: dict[str, Any] = {
    "no_args_is_help": True,
    "rich_markup_mode": "markdown",
    "pretty_exceptions_enable": False,
}
"""Of every group of commands."""


def application(about: str, panels: Panels, argv: Sequence[str] = ()) -> typer.Typer:
    """A command line, or as much of it as these arguments need.

    Args:
        about: what it is for.
        panels: its commands; each is the function, or the group, of that name in its module.
        argv: the arguments; where they begin with a command, it is the only one that is imported.
    """
    app = typer.Typer(help=about, context_settings={"help_option_names": ["-h", "--help"]}, **SETTINGS)
    app.callback()(_of_all)
    places = [
        (name, module, panel)
        for panel, modules in panels.items()
        for module, names in modules.items()
        for name in names
    ]
    for name, module, panel in [each for each in places if each[0] in argv[:1]] or places:
        command = getattr(import_module(f"marecg_cli.{module}"), name.replace("-", "_"))
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=panel)
        else:
            app.command(name, rich_help_panel=panel)(command)
    return app


def tree(app: typer.Typer) -> TyperGroup:
    """The commands as they are run: each takes -q and -v, and refuses an address where a path belongs."""
    group = cast(TyperGroup, typer.main.get_command(app))
    loudness = [each for each in group.params if each.name in ("quiet", "verbose")]
    for command in _leaves(group):
        for each in command.params:
            of_paths = each.type_descriptor.annotation in (Path, list[Path]) or each.name == "out"
            each.callback = each.callback or (_refuse_address if of_paths else None)
        command.params += loudness
    return group


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
            refuse_address(path, "isn't a path of this machine, and no address", remedy)
    return value


def _print_versions(asked: bool) -> None:
    if asked:
        from importlib.metadata import distributions

        installed = {each.name: each.version for each in distributions()}
        names = [
            name for name in ("marecg-cli", "ecg-ontology", "marecg-model", "torch") if name in installed
        ]
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
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            expose_value=False,
            callback=lambda given: set_loudness(-1) if given else None,
            help="Print results and failures only.",
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
            help="Tell what is done; twice: everything, with the place of an error.",
        ),
    ] = 0,
) -> None:
    """What stands before the name of a command."""
