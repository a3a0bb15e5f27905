"""What a command line asks of the product."""

import inspect
import shlex
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import pytest
from typer.testing import CliRunner


class ReachedError(Exception):
    """The function was called; with what."""


def reached(monkeypatch: pytest.MonkeyPatch, app: Any, line: str, target: str) -> Mapping[str, Any]:
    """What a function of the product is called with by a command; it does not run."""
    module, _, name = target.rpartition(".")
    signature = inspect.signature(getattr(import_module(module), name))

    def note(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        raise ReachedError(bound.arguments)

    with monkeypatch.context() as patch:
        patch.setattr(target, note)
        with pytest.raises(ReachedError) as caught:
            CliRunner().invoke(app(), shlex.split(line), catch_exceptions=False)
    return caught.value.args[0]  # type: ignore[no-any-return]
