"""Error classes that state what is wrong, where, and what to do about it.

Every error that a user can cause is an `EcgError`, so the command line needs a single `except`. Packages
derive their own errors from `UsageError`, `InputError` and `OutputError`.
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
    """A recipe file or the option `--set` has an unknown setting or an invalid value."""


class UnknownSettingError(ConfigError):
    """A setting has an unknown name. The attribute `setting` contains this name."""

    def __init__(self, setting: str, *, where: object = "", remedy: str = "") -> None:
        super().__init__(f"unknown setting {setting!r}", where=where, remedy=remedy)
        self.setting = setting


class StoppedError(EcgError):
    """A signal stopped training early.

    Attributes:
        signal: number of the signal.
        step: number of training steps that the saved checkpoint contains.
    """

    def __init__(self, signal: int, step: int, *, where: object = "") -> None:
        super().__init__(f"stopped at step {step}; run the same command to continue", where=where)
        self.signal = signal
        self.step = step


def suggest(name: str, choices: Iterable[str], otherwise: str = "") -> str:
    """Return a remedy for an unknown name: the choice with the most similar spelling, or all choices.

    Args:
        name: the unknown name.
        choices: the valid names.
        otherwise: remedy if no choice has a similar spelling, instead of the list of all choices.

    Example:
        >>> [suggest(name, ["tiny", "small"]) for name in ("smal", "xxl")]
        ['Did you mean small?', 'Choose from tiny, small']
    """
    by_letters = {choice.casefold(): choice for choice in choices}
    matches = get_close_matches(name.casefold(), by_letters, n=1, cutoff=0.75)
    if matches:
        return f"Did you mean {by_letters[matches[0]]}?"
    return otherwise or f"Choose from {', '.join(by_letters.values())}"


def refuse_unknown(noun: str, name: str, choices: Collection[str], where: object = "") -> None:
    """Raise `UsageError` if a name is not among the choices.

    The error calls the name a `noun`, such as "rule". `where` is the file or option that contains the name.
    """
    if name not in choices:
        problem = f"unknown {noun} {name!r}"
        raise UsageError(problem, where=where, remedy=suggest(name, choices))


def optional(module: str, problem: str, remedy: str) -> Any:
    """Return an optional module. If it isn't installed, raise `UsageError` with this problem and remedy."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(problem, remedy=remedy) from error


class InputError(EcgError):
    """An input can't be read."""


class OutputError(EcgError):
    """An output can't be written."""
