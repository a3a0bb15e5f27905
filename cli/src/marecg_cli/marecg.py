"""Define the command line `marecg`: from a folder of hospital records to an evaluated encoder."""

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
"""Panels of the help page, in the order of a user's work, with the modules and their commands."""
OTHER_NAMES = {
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
"""Commands of `marecg`, by the names that other tools use for the same purpose."""


def app(argv: Sequence[str] = ()) -> typer.Typer:
    """Return the command line with all commands, or with the single command that the arguments name."""
    summary = "Ontology-guided representation learning for 12-lead ECG."
    return application(f"{summary}\n\nExample: marecg demo", PANELS, argv)


def main(argv: list[str] | None = None) -> None:
    """Run the `marecg` command line."""
    # Waiting threads must not spin, because spinning takes CPU time from the threads that they wait for if
    # other programs also run. OpenMP reads this variable when torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

    def commands(words: Sequence[str]) -> TyperGroup:
        if words and words[0] in OTHER_NAMES:
            remedy = f"Did you mean marecg {OTHER_NAMES[words[0]]}?"
            raise UsageError(f"there is no command {words[0]!r}", remedy=remedy)
        return tree(app(words))

    run(commands, sys.argv[1:] if argv is None else argv)
