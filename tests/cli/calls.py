"""How tests call `marecg` and `ecgonto` in this process."""

import inspect
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from importlib import import_module
from io import StringIO
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from marecg_cli import ecgonto, marecg
from marecg_cli._commands import tree

APPS: dict[str, Any] = {"marecg": marecg, "ecgonto": ecgonto}


def commands() -> dict[str, Any]:
    """Every command by the words that call it."""
    trees = {name: tree(module.app()) for name, module in APPS.items()}
    return dict(pair for name, group in trees.items() for pair in _walk((name,), group))


def _walk(path: tuple[str, ...], command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield " ".join(path), command
    for name, child in getattr(command, "commands", {}).items():
        yield from _walk((*path, name), child)


def run(*argv: object, program: ModuleType = marecg) -> int:
    """Its exit code; what it printed is left to `capsys`."""
    with pytest.raises(SystemExit) as end:
        program.main([str(each) for each in argv])
    return int(end.value.code or 0)


def invoke(*argv: object, program: ModuleType = marecg, stdin: str | None = None) -> tuple[int, str, str]:
    """Its exit code, stdout and stderr."""
    before = sys.stdin
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        try:
            sys.stdin = before if stdin is None else StringIO(stdin)
            code = run(*argv, program=program)
        finally:
            sys.stdin = before
    return code, out.getvalue(), err.getvalue()


call = partial(invoke, program=ecgonto)
"""The same of `ecgonto`."""


def end(*argv: object) -> tuple[int, str]:
    """The exit code of a command that prints no result, and the one line on stderr."""
    code, out, err = invoke(*argv)
    assert not out.strip()
    [line] = [line for line in err.splitlines() if "record/s" not in line]
    return code, line


class ReachedError(Exception):
    """The function was called."""


def reached(line: str, target: str) -> Mapping[str, Any]:
    """What a function of the product is called with by a line of either program; it does not run."""
    words = shlex.split(line)
    app = ecgonto.app() if words[0] == "ecgonto" else marecg.app()
    module, _, name = target.rpartition(".")
    signature = inspect.signature(getattr(import_module(module), name))
    with patch(target, side_effect=ReachedError) as called, pytest.raises(ReachedError):
        CliRunner().invoke(app, words[words[0] == "ecgonto" :], catch_exceptions=False)
    bound = signature.bind(*called.call_args.args, **called.call_args.kwargs)
    bound.apply_defaults()
    return bound.arguments
