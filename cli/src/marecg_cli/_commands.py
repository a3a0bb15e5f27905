"""How both command lines are built: what every command has, and a help page in stages.

Every command takes -h, -q and -v. The packages' parts are imported by the commands that run them, so this
file knows names only.
"""

import inspect
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperGroup

from ecg_ontology import refuse_address
from marecg_cli._given import Address
from marecg_cli._output import be_as_loud_as

Stages = Mapping[str, Sequence[str]]
"""What commands are for, in the order of a user's way, and the names of those that are for it."""
T = TypeVar("T")
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print results and failures only.")]
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        show_default=False,
        help="Tell what is done; twice: everything, with the place of an error.",
    ),
]


def application(help_: str, stages: Stages, distribution: str = "", default: str = "") -> typer.Typer:
    """A command line, or a group within one.

    Args:
        help_: what it is for, and an example where it is a group.
        stages: the order and the headings of its help page. A command that they don't name comes last.
        distribution: what --version tells the version of; a group has none.
        default: the command that is meant where none is named.
    """

    class Group(TyperGroup):
        """Lists its commands by stage, and may have one that is meant where none is named."""

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Put the default command's name in front, unless another is named or help is asked for."""
            if default and (not args or args[0] not in (*self.commands, "-h", "--help")):
                args = [default, *args]
            return super().parse_args(ctx, args)

        def list_commands(self, ctx: Any) -> list[str]:
            """The names in the order of the stages."""
            ordered = [name for names in stages.values() for name in names if name in self.commands]
            return ordered + [name for name in self.commands if name not in ordered]

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            """A section per stage, each command with its whole first sentence."""
            names = self.list_commands(ctx)
            known = {name for each in stages.values() for name in each}
            rest = {"more": [name for name in names if name not in known]}
            for stage, wanted in {**stages, **rest}.items():
                rows = [
                    (name, summary(self.commands[name].help or ""))
                    for name in wanted
                    if name in self.commands and not self.commands[name].hidden
                ]
                if rows:
                    with formatter.section(stage.capitalize()):
                        formatter.write_dl(rows)

    app = typer.Typer(
        cls=Group,
        help=help_,
        no_args_is_help=True,
        add_completion=bool(distribution),
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    if distribution:

        @app.callback()
        def _(
            version: bool = typer.Option(
                False,
                "--version",
                is_eager=True,
                callback=lambda value: _tell_version(distribution) if value else None,
                help="Print the versions and exit.",
            ),
        ) -> None:
            pass

    return app


def add(app: typer.Typer, commands: Iterable[Callable[..., None]]) -> None:
    """Add functions to a command line, each under its own name, with -q and -v."""
    for command in commands:
        name = command.__name__.rstrip("_").replace("_", "-")
        app.command(name)(_with_loudness(command))


def summary(text: str) -> str:
    """The first sentence of a help text, without what follows a semicolon or a colon."""
    first = " ".join(text.split("\n\n", maxsplit=1)[0].split())
    for end in (". ", "; ", ": "):
        first = first.partition(end)[0]
    return first.rstrip(".")


def one_of(values: Callable[[], Iterable[str]]) -> dict[str, Any]:
    """The settings of an option whose values are a closed set that a package knows, and refuses others by.

    A shell completes them; until then nothing is imported.
    """
    return {"autocompletion": lambda incomplete: [each for each in values() if each.startswith(incomplete)]}


def _with_loudness(command: Callable[..., None]) -> Callable[..., None]:
    """The same command with -q and -v."""

    @wraps(command)
    def run(*args: Any, quiet: bool, verbose: int, **options: Any) -> None:
        be_as_loud_as(-1 if quiet else verbose)
        command(*args, **{name: _at_hand(name, value) for name, value in options.items()})

    signature, kind = inspect.signature(command), inspect.Parameter.KEYWORD_ONLY
    more = [
        inspect.Parameter("quiet", kind, default=False, annotation=Quiet),
        inspect.Parameter("verbose", kind, default=0, annotation=Verbose),
    ]
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *more])  # type: ignore[attr-defined]
    run.__annotations__ = {**command.__annotations__, "quiet": Quiet, "verbose": Verbose}
    return run


def _at_hand(name: str, value: Any) -> Any:
    """What an option was given; of an address, where that may stand, the copy of what lies there.

    Raises:
        UsageError: it takes a path of this machine, and an address is given.
        InputError: what is there can't be copied.
    """
    if isinstance(value, Address):
        from marecg.storage.copies import ensure_local

        return ensure_local(value)
    for path in value if isinstance(value, list) else [value]:
        if isinstance(path, Path):
            refuse_address(path, f"is an address, and {name.rstrip('_')} takes a path")
    if name == "out" and isinstance(value, str):  # it takes both
        remedy = "Write it with two slashes, as s3://bucket/folder"
        refuse_address(value, "isn't a path of this machine, and no address", remedy)
    return value


def _tell_version(distribution: str) -> None:
    from importlib.metadata import PackageNotFoundError, version

    def known(name: str) -> Iterable[str]:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            return

    others = [line for name in ("ecg-ontology", "marecg-model", "torch") for line in known(name)]
    typer.echo(f"{distribution} {version(distribution)}")
    typer.echo(", ".join([*others, f"Python {platform.python_version()}"]))
    raise typer.Exit
