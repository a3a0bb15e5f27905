"""`ecgonto`: what a code means, how far two concepts lie apart, and whether an ontology is sound."""

import gc

from marecg_cli import (
    _ecgonto_build,
    _ecgonto_check,
    _ecgonto_curate,
    _ecgonto_find,
    _ecgonto_look,
    _ecgonto_review,
)
from marecg_cli._commands import add, application
from marecg_cli._output import run

STAGES = {
    "look": ("show", "search", "tree", "browse", "route", "target", "distance", "explain", "draw"),
    "check": ("validate", "rules", "errata", "snomed"),
    "review": ("coverage", "diff", "review", "add-code", "match"),
    "build": ("init", "build", "export", "perturb"),
}
"""What the commands are for."""

app = application(
    "The cardiac concept graph: route codes, see targets and distances, check, build and export it.\n\n"
    "Example: ecgonto route 164889003",
    STAGES,
    "marecg-cli",
)
for module in (
    _ecgonto_look,
    _ecgonto_find,
    _ecgonto_review,
    _ecgonto_curate,
    _ecgonto_check,
    _ecgonto_build,
):
    add(app, module.COMMANDS)


def main(argv: list[str] | None = None) -> None:
    """Run the `ecgonto` command line."""
    gc.set_threshold(100_000, 20, 20)  # rows and concepts stay: looking for cycles would take half the time
    run(app, argv)
