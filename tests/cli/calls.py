"""How tests call `marecg` in this process."""

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import pytest

from marecg_cli.marecg import main


def run(*argv: object) -> int:
    """Its exit code; what it printed is left to `capsys`."""
    with pytest.raises(SystemExit) as end:
        main([str(each) for each in argv])
    return int(end.value.code or 0)


def invoke(*argv: object) -> tuple[int, str, str]:
    """Its exit code, stdout and stderr."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = run(*argv)
    return code, out.getvalue(), err.getvalue()


def end(*argv: object) -> tuple[int, str]:
    """The exit code of a command that prints no result, and the one line on stderr."""
    code, out, err = invoke(*argv)
    assert not out.strip()
    [line] = [line for line in err.splitlines() if "record/s" not in line]
    return code, line
