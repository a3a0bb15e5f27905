"""`ecgonto`: codes, distances and targets of the concept graph, and its curation."""

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
"""What the commands are for, in the order of a user's way, and the modules that have them."""


def app(argv: Sequence[str] = ()) -> typer.Typer:
    """Return the command line, or the part that the arguments need."""
    summary = "The cardiac concept graph: route codes, see targets and distances, check, build and export it."
    return application(f"{summary}\n\nExample: ecgonto route 164889003", PANELS, argv)


def main(argv: list[str] | None = None) -> None:
    """Run the `ecgonto` command line."""
    run(lambda given: tree(app(given)), sys.argv[1:] if argv is None else argv)
