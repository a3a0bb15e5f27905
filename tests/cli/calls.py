"""How tests call `marecg` in this process."""

import pytest
from typer.testing import CliRunner

from marecg_cli.marecg import app, main


def run(*argv: object) -> int:
    """Its exit code; what it printed is left to `capsys`."""
    with pytest.raises(SystemExit) as end:
        main([str(each) for each in argv])
    return int(end.value.code or 0)


def invoke(*argv: object) -> tuple[int, str, str]:
    """Its exit code, stdout and stderr."""
    result = CliRunner().invoke(app, [str(each) for each in argv], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def end(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str]:
    """The exit code of a command that prints no result, and the one line that it says."""
    code = run(*argv)
    captured = capsys.readouterr()
    assert captured.out.strip() == ""
    [line] = captured.err.splitlines()
    return code, line
