"""How tests call `marecg` and `ecgonto` in this process."""

from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from types import ModuleType

import pytest

from marecg_cli import ecgonto, marecg


def run(*argv: object, program: ModuleType = marecg) -> int:
    """Its exit code; what it printed is left to `capsys`."""
    with pytest.raises(SystemExit) as end:
        program.main([str(each) for each in argv])
    return int(end.value.code or 0)


def invoke(*argv: object, program: ModuleType = marecg) -> tuple[int, str, str]:
    """Its exit code, stdout and stderr."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = run(*argv, program=program)
    return code, out.getvalue(), err.getvalue()


call = partial(invoke, program=ecgonto)
"""The same of `ecgonto`."""


def end(*argv: object) -> tuple[int, str]:
    """The exit code of a command that prints no result, and the one line on stderr."""
    code, out, err = invoke(*argv)
    assert not out.strip()
    [line] = [line for line in err.splitlines() if "record/s" not in line]
    return code, line
