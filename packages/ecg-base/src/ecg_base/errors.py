"""The error tree: what is wrong, where, and what to do about it.

Every error that a user can cause is an `EcgError`, so a single `except` at the command line is enough. Every
package derives its own errors from the same three branches.
"""

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from ecg_base.escaping import printable


class EcgError(ValueError):
    """A problem that the user can fix.

    Args:
        problem: what is wrong, without a full stop.
        where: the file, option or record concerned.
        remedy: what to do, as an imperative sentence without a full stop, or a question.

    Example:
        >>> print(EcgError("is empty", where="a.ttl", remedy="Add a concept"))
        a.ttl: is empty. Add a concept.
    """

    def __init__(self, problem: str, *, where: object = "", remedy: str = "") -> None:
        self.problem = problem
        self.where = str(where)
        self.remedy = remedy
        sentence = f"{self.where}: {problem}" if self.where else problem
        end = "" if remedy.endswith(("?", ".")) else "."
        super().__init__(printable(f"{sentence}. {remedy}{end}" if remedy else sentence))


class UsageError(EcgError):
    """The request is invalid: an unknown name, key or option value."""


class ConfigError(UsageError):
    """A recipe or a `--set` names an unknown setting or an impossible value."""


class UnknownSettingError(ConfigError):
    """An unknown name of a setting. `setting` is the name."""

    def __init__(self, setting: str, *, where: object = "", remedy: str = "") -> None:
        super().__init__(f"unknown setting {setting!r}", where=where, remedy=remedy)
        self.setting = setting


class StoppedError(EcgError):
    """A signal stopped training early.

    Attributes:
        signal: number of the signal.
        step: last step in the checkpoint.
    """

    def __init__(self, signal: int, step: int, *, where: object = "") -> None:
        super().__init__(f"stopped at step {step}; run the same command to continue", where=where)
        self.signal = signal
        self.step = step


def suggest(name: str, choices: Iterable[str], otherwise: str = "") -> str:
    """Return the remedy for an unknown name.

    Args:
        name: the unknown name.
        choices: the valid names.
        otherwise: remedy if no choice is spelt like the name. By default it lists all choices.

    Example:
        >>> [suggest(name, ["tiny", "small"]) for name in ("smal", "xxl")]
        ['Did you mean small?', 'Choose from tiny, small']
    """
    by_letters = {choice.casefold(): choice for choice in choices}
    near = get_close_matches(name.casefold(), by_letters, n=1, cutoff=0.75)
    if near:
        return f"Did you mean {by_letters[near[0]]}?"
    return otherwise or f"Choose from {', '.join(by_letters.values())}"


def refuse_unknown(kind: str, name: str, choices: Collection[str], where: object = "") -> None:
    """Raise `UsageError` if a name is not among the choices."""
    if name not in choices:
        problem = f"unknown {kind} {name!r}"
        raise UsageError(problem, where=where, remedy=suggest(name, choices))


def optional(module: str, problem: str, remedy: str) -> Any:
    """Import an optional module. Raise `UsageError` if it isn't installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(problem, remedy=remedy) from error


class InputError(EcgError):
    """An input can't be read."""


class OutputError(EcgError):
    """An output can't be written."""
