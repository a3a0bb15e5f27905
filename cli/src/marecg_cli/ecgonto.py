"""Define the command line `ecgonto`: codes, distances and targets of the concept graph, and its curation."""

import sys
from collections.abc import Sequence

import typer

from marecg_cli._commands import Panels, application, tree
from marecg_cli._output import run

PANELS: Panels = {
    "Look": {"_ecgonto_look": ("show", "route", "target"), "_ecgonto_find": ("search",)},
    "Check": {"_ecgonto_check": ("validate",)},
    "Review": {"_ecgonto_review": ("coverage", "diff", "review"), "_ecgonto_match": ("match",)},
    "Build": {"_ecgonto_build": ("build", "export")},
}
"""Panels of the help page, in the order of a user's work, with the modules and their commands."""


def app(argv: Sequence[str] = ()) -> typer.Typer:
    """Return the command line with all commands, or with the single command that the arguments name."""
    summary = (
        "The cardiac concept graph: route codes, show targets and distances, check, build and export it."
    )
    return application(f"{summary}\n\nExample: ecgonto route 164889003", PANELS, argv)


def main(argv: list[str] | None = None) -> None:
    """Run the `ecgonto` command line."""
    run(lambda words: tree(app(words)), sys.argv[1:] if argv is None else argv)
