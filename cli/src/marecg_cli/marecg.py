"""`marecg`: from a folder of hospital records to a probed encoder."""

import os
import sys
from collections.abc import Sequence

import typer
from typer.core import TyperGroup

from ecg_base import UsageError
from marecg_cli._commands import Panels, application, tree
from marecg_cli._output import run

PANELS: Panels = {
    "Start": {"_training": ("demo",), "_corpus": ("synth",), "_data": ("data",)},
    "Corpus": {"_corpus": ("prepare", "audit"), "_cohort": ("cohort",)},
    "Train": {"_training": ("recipes", "train")},
    "Evaluate": {"_evaluation": ("probe", "table"), "_classify": ("classify",)},
    "Use": {
        "_inference": ("embed", "predict"),
        "_data": ("export",),
        "_report": ("report",),
    },
}
"""What the commands are for, in the order of a user's way, and the modules that have them."""
ELSEWHERE = {
    "convert": "prepare",
    "download": "data",
    "evaluate": "probe",
    "finetune": "classify fit",
    "fit": "classify fit",
    "judge": "probe --protocol finetune",
    "list": "recipes",
    "list-models": "predict --help",
    "pretrain": "train",
    "stats": "prepare",
    "version": "--version",
}
"""Words that users of other tools try, and what does it here."""


def app(argv: Sequence[str] = ()) -> typer.Typer:
    """Return the command line, or the part that the arguments need."""
    summary = "Ontology-guided representation learning for 12-lead ECG."
    return application(f"{summary}\n\nExample: marecg demo", PANELS, argv)


def main(argv: list[str] | None = None) -> None:
    """Run the `marecg` command line."""
    # A thread that waits for another by spinning keeps it from running where other programs run too. OpenMP
    # reads this when torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

    def commands(given: Sequence[str]) -> TyperGroup:
        if given and given[0] in ELSEWHERE:
            remedy = f"Did you mean marecg {ELSEWHERE[given[0]]}?"
            raise UsageError(f"there is no command {given[0]!r}", remedy=remedy)
        return tree(app(given))

    run(commands, sys.argv[1:] if argv is None else argv)
