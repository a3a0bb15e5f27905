"""What both command lines share: results on stdout, messages on stderr, and the exit codes.

0 fine · 1 findings or an unknown code · 2 wrong usage · 3 input that can't be read or output that
can't be written · 130 interrupted.
"""

import json
import os
import sys
from enum import StrEnum
from typing import Any, NoReturn

import typer

from ecg_ontology.errors import EcgError, UsageError

EXIT_FINDINGS = 1
EXIT_USAGE = 2
EXIT_UNREADABLE = 3
EXIT_INTERRUPTED = 130


class Format(StrEnum):
    """How a result is printed."""

    text = "text"
    json = "json"


class Readout(StrEnum):
    """What is read from an encoder as one vector of a record; `marecg.use.embed.Readout` without torch."""

    rhythm = "rhythm"
    wide = "wide"


def result(text: str) -> None:
    """Print a result to stdout."""
    typer.echo(text)


def result_json(value: Any) -> None:
    """Print a result to stdout as JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def message(text: str) -> None:
    """Print a message to stderr, where it does not disturb a pipe."""
    typer.echo(text, err=True)


def run(app: typer.Typer, argv: list[str] | None) -> NoReturn:
    """Run `app` on `argv`, or on the process's own arguments; a user's error ends in one line."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # else it looks into every package installed
    try:
        app(args=argv, standalone_mode=True)
    except SystemExit as end:
        if end.code == EXIT_INTERRUPTED:
            message("interrupted")
        raise
    except EcgError as error:
        message(f"error: {error}")
        sys.exit(EXIT_USAGE if isinstance(error, UsageError) else EXIT_UNREADABLE)
    sys.exit(0)
