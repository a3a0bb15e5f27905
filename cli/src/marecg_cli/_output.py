"""What both command lines share: results on stdout, messages on stderr, and the exit codes.

0 fine · 1 findings or an unknown code · 2 wrong usage · 3 input that can't be read or output that
can't be written · 129 its terminal was closed · 130 interrupted · 143 stopped by a scheduler.

A message is a log record, as the warnings of the packages are, so -q and -v rule both.
"""

import errno
import json
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from ecg_ontology import EcgError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

EXIT_FINDINGS = 1
EXIT_USAGE = 2
EXIT_UNREADABLE = 3
EXIT_INTERRUPTED = 130
EXIT_STOPPED = 143
WIDTH = 200
"""Columns of a table where there is no terminal that says how wide it is."""
LOGGERS = ("marecg_cli", "marecg", "ecg_ontology")
"""Whose log records the commands print."""

logger = logging.getLogger(__name__)


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Format(StrEnum):
    """How a result is printed."""

    text = "text"
    json = "json"


class Readout(StrEnum):
    """What is read from an encoder as one vector of a record; `marecg.use.embed.Readout` without torch."""

    rhythm = "rhythm"
    wide = "wide"


def result(text: str) -> None:
    """Print a result to stdout, without what a terminal would obey."""
    typer.echo(printable(text))


def result_json(value: Any) -> None:
    """Print a result to stdout as JSON."""
    plain = "utf" not in (getattr(sys.stdout, "encoding", "") or "").lower()
    text = json.dumps(value, indent=2, ensure_ascii=plain, allow_nan=False)
    typer.echo(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text))  # json leaves \x7f to \x9f


def message(text: str) -> None:
    """Print a message to stderr, where it does not disturb a pipe; -q leaves it out."""
    logger.info("%s", printable(text))


def problem(text: str) -> None:
    """Print to stderr, -q or not, what could not be done."""
    logger.error("%s", printable(text))


def printable(text: str) -> str:
    """A text without what a terminal would obey: a file can have any name."""
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def quiet() -> bool:
    """Whether messages and bars are not wanted."""
    return not logger.isEnabledFor(logging.INFO)


def console(*, stderr: bool = False) -> "Console":
    """A terminal as wide as it is or COLUMNS says, or a file of long lines; colours as NO_COLOR says."""
    from rich.console import Console

    made = Console(stderr=stderr)
    return made if made.is_terminal or "COLUMNS" in os.environ else Console(stderr=stderr, width=WIDTH)


def be_as_loud_as(wanted: int) -> None:
    """Say only what failed (−1), what concerns a user (0), what is done (1), or everything (2 and more)."""
    own, others = {-1: (logging.ERROR, logging.ERROR), 0: (logging.INFO, logging.WARNING)}.get(
        wanted, (logging.INFO, logging.INFO) if wanted == 1 else (logging.DEBUG, logging.DEBUG)
    )
    for name in LOGGERS:
        logging.getLogger(name).setLevel(own if name == LOGGERS[0] else others)
    logging.getLogger("lightning.pytorch").setLevel(logging.INFO if wanted > 1 else logging.WARNING)


def run(app: typer.Typer, argv: list[str] | None) -> NoReturn:
    """Run `app` on `argv`, or on the process's own arguments; a user's error ends in one line."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # else it looks into every package installed
    for name in LOGGERS:
        log = logging.getLogger(name)
        if not any(isinstance(handler, _OnStderr) for handler in log.handlers):
            log.addHandler(_OnStderr())
    be_as_loud_as(0)
    if isinstance(sys.stdout, TextIOWrapper):  # what a terminal's encoding, or UTF-8, has no letters for
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with _tidying_up():
            app(args=argv, standalone_mode=True)
    except _Stopped as end:
        number = end.args[0]
        problem("interrupted" if number == signal.SIGINT else f"stopped by {signal.Signals(number).name}")
        sys.exit(128 + number)
    except EcgError as error:
        stopped_by = getattr(error, "signal", None)  # marecg's StoppedError; ecgonto imports no marecg
        if stopped_by is not None:
            problem(str(error))
            sys.exit(EXIT_INTERRUPTED if stopped_by == signal.SIGINT else EXIT_STOPPED)
        logger.debug("where it happened", exc_info=True)
        problem(f"error: {error}")
        sys.exit(EXIT_USAGE if isinstance(error, UsageError) else EXIT_UNREADABLE)
    except (OSError, MemoryError, RuntimeError, UnicodeEncodeError) as error:
        refused = _refused(error)
        if refused is None:
            raise
        logger.debug("where it happened", exc_info=True)
        problem(f"error: {refused}")
        sys.exit(EXIT_UNREADABLE)
    sys.exit(0)


class _Stopped(BaseException):
    """A signal, by its number, that ends the command as Ctrl-C does."""


_ENDINGS = (signal.SIGTERM, signal.SIGHUP)
_MOMENT = 0.01
"""Seconds after which a signal is raised again where it was lost."""


@contextmanager
def _tidying_up() -> Iterator[None]:
    """Let the signals that end a program do so by way of what removes half-written and temporary files.

    One that is ignored, as behind nohup, or has another's handler stays as it is. Whatever else is raised
    after one was heard is what a library made of it: pydantic turns it into an error of serialization. And
    where nothing can be raised, while an object is taken away, an alarm raises it a moment later.
    """
    here = threading.current_thread() is threading.main_thread()
    untouched: dict[int, Any] = dict.fromkeys((*_ENDINGS, signal.SIGALRM), signal.SIG_DFL)
    untouched[signal.SIGINT] = signal.default_int_handler
    before = {each: was for each, was in untouched.items() if here and signal.getsignal(each) is was}
    heard: list[int] = []
    reported = sys.unraisablehook

    def end(number: int, frame: object) -> NoReturn:
        heard.append(number)
        if number != signal.SIGALRM:
            signal.signal(number, before[number])  # a second one is not waited for
        raise KeyboardInterrupt if heard[0] == signal.SIGINT else _Stopped(heard[0])

    def lost(unraisable: Any) -> None:
        if heard and unraisable.exc_type in (KeyboardInterrupt, _Stopped):
            signal.setitimer(signal.ITIMER_REAL, _MOMENT)
        else:
            reported(unraisable)

    for each in before:
        signal.signal(each, end)
    if signal.SIGALRM in before:
        sys.unraisablehook = lost
    try:
        yield
    except BaseException as error:
        done = isinstance(error, SystemExit) and not error.code
        if heard and not done:
            raise _Stopped(heard[0]) from error
        raise
    finally:
        if signal.SIGALRM in before:
            sys.unraisablehook = reported
            signal.setitimer(signal.ITIMER_REAL, 0)
        for each, was in before.items():
            signal.signal(each, was)


def _refused(error: Exception) -> str | None:
    """What this machine did not give, or can't take; None where the error is one of the program."""
    if isinstance(error, UnicodeEncodeError):
        if error.reason != "surrogates not allowed":
            return None
        shown = error.object.encode(errors="backslashreplace").decode()
        return f"{shown}: a name in this path isn't UTF-8. Rename it."
    of_torch = type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)
    if of_torch or isinstance(error, MemoryError) or getattr(error, "errno", 0) == errno.ENOMEM:
        return "there is not enough memory. Do less at once: a smaller --batch-size, fewer --jobs."
    if not isinstance(error, OSError):
        return str(error) if str(error).startswith("Symlink loop") else None  # of `Path.resolve`
    if error.filename is not None:  # what the program writes, or asks for by name, it reports as EcgError
        return f"{error.filename}: {error.strerror}. Check that it can be read and written."
    return f"the output cannot be written ({error.strerror or error})"  # stdout, say on a full disk


class _OnStderr(logging.Handler):
    """Prints records as lines on what is stderr at the time; those of a package say how grave they are."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one."""
        told = self.format(record)
        own = record.name.startswith(LOGGERS[0])
        with suppress(OSError):  # nowhere is left to say that stderr can't be written
            typer.echo(told if own else f"{record.levelname.lower()}: {told}", err=True)
