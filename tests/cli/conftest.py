"""How tests call the command lines in this process."""

import pytest

from marecg_cli import ecgonto


@pytest.fixture
def call_ecgonto(capsys):
    """Run `ecgonto` with these arguments; return its exit code, stdout and stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as done:
            ecgonto.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return int(done.value.code or 0), out, err

    return run
