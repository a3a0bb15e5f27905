"""`ecgonto`: what a code means, how far two concepts lie apart, and whether an ontology is sound."""

import typer

from marecg_cli import (
    _ecgonto_build,
    _ecgonto_check,
    _ecgonto_curate,
    _ecgonto_find,
    _ecgonto_look,
    _ecgonto_review,
)
from marecg_cli._output import run

app = typer.Typer(
    help="The cardiac concept graph: route codes, see targets and distances, check, build and export it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for module in (
    _ecgonto_look,
    _ecgonto_find,
    _ecgonto_review,
    _ecgonto_curate,
    _ecgonto_check,
    _ecgonto_build,
):
    for command in module.COMMANDS:
        app.command()(command)


def main(argv: list[str] | None = None) -> None:
    """Run the `ecgonto` command line."""
    run(app, argv)
