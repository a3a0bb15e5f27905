"""Run both command lines: results on stdout, messages on stderr, and exit codes.

Exit codes: 0 success · 1 findings or an unknown code · 2 wrong usage · 3 input that can't be read or output
that can't be written · 129 terminal closed · 130 interrupted · 143 stopped by a scheduler · 152 out of CPU
time.

Messages of the commands are log records, as are warnings of the packages. Therefore -q and -v apply to both.
"""

import errno
import json
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from threading import Timer
from traceback import walk_stack
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from typer.core import TyperGroup

from ecg_base import UNPRINTABLE, EcgError, StoppedError, UnknownSettingError, UsageError, printable

if TYPE_CHECKING:
    from rich.console import Console

EXIT_FINDINGS = 1
EXIT_USAGE = 2
EXIT_UNREADABLE = 3
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU)
_COMPILED = "TORCHINDUCTOR_CACHE_DIR"
WIDTH = 200
"""Width in columns of a table that isn't printed to a terminal."""
LOGGERS = ("marecg_cli", "marecg", "ecg_records", "ecg_ontology")
"""Loggers whose records the commands print."""
PACKAGES = ("ecg_records", "ecg_synth", "marecg")
"""Optional packages, which only some commands need."""

logger = logging.getLogger(__name__)


def result(text: str) -> None:
    """Print a result to stdout. Terminal control characters except line breaks are escaped."""
    typer.echo(printable(text, keep="\n"))


def result_list(texts: Iterable[str]) -> None:
    """Print results to stdout one by one, each like `result`, but fast enough for millions."""
    for text in texts:
        sys.stdout.write(printable(text, keep="\n") + "\n")


def result_json(value: Any) -> None:
    """Print a result to stdout as JSON."""
    typer.echo(json_text(value))


def result_json_list(items: Iterable[str]) -> None:
    """Print JSON texts to stdout as a JSON list, item by item."""
    separator = "["
    for text in items:
        sys.stdout.write(f"{separator}\n  " + text.replace("\n", "\n  "))
        separator = ","
    typer.echo("[]" if separator == "[" else "\n]")


def json_text(value: Any) -> str:
    """Return a value as JSON. Terminal control characters are escaped."""
    ascii_only = "utf" not in (getattr(sys.stdout, "encoding", "") or "").lower()
    text = json.dumps(value, indent=2, ensure_ascii=ascii_only, allow_nan=False)
    return UNPRINTABLE.sub(lambda char: char[0] if char[0] == "\n" else f"\\u{ord(char[0]):04x}", text)


def message(text: str) -> None:
    """Print a message to stderr, except with -q."""
    logger.info("%s", text)


def problem(text: str) -> None:
    """Print a failure to stderr, even with -q."""
    logger.error("%s", text)


def say_first(
    what: str, lines: Collection[str], rest: str, say: Callable[[str], None] = message, count: int = 20
) -> None:
    """Print the first `count` lines with the prefix `what`, then the number of other lines, if any.

    Args:
        what: prefix of every line.
        lines: the lines.
        rest: text after the number of other lines, such as "in report.json".
        say: function that prints a line.
        count: maximum number of lines to print.
    """
    for line in islice(lines, count):
        say(f"{what}: {line}")
    if len(lines) > count:
        say(f"{what}: {len(lines) - count} more {rest}")


def console() -> "Console":
    """Return a Rich console with the width of the terminal or of the variable COLUMNS, or else `WIDTH`."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(width=WIDTH)


def turned(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return headings and lines of a table, transposed if it has few lines and is wider than the terminal."""
    columns = list(zip(heads, *lines, strict=True))
    fits = sum(3 + max(map(len, column)) for column in columns) < console().width
    if fits or not 0 < len(lines) < len(heads) - 1:
        return heads, list(lines)
    first, *rest = columns
    return first, list(rest)


def set_loudness(level: int) -> None:
    """Set the log level: failures (−1), messages (0), progress (1), or everything (2 and more)."""
    package_level = {-1: logging.ERROR, 0: logging.WARNING, 1: logging.INFO}.get(level, logging.DEBUG)
    for name in LOGGERS[1:]:
        logging.getLogger(name).setLevel(package_level)
    logging.getLogger(LOGGERS[0]).setLevel(logging.INFO if level == 0 else package_level)
    logging.getLogger("lightning.pytorch").setLevel(logging.INFO if level > 1 else logging.WARNING)


def _silence_libraries() -> None:
    """Suppress the warnings of libraries about a read-only home folder and a missing /dev/shm."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", ".*joblib will operate in serial mode", UserWarning)


def run(commands: Callable[[Sequence[str]], TyperGroup], argv: Sequence[str]) -> NoReturn:
    """Run a command line on arguments, and exit.

    `commands` returns the Click group for the arguments. Errors that the user can fix, and signals, are
    printed as a single line. Any other exception is a bug and is raised.
    """
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # searching all packages for plugins is slow
    _silence_libraries()
    for name in LOGGERS:
        log = logging.getLogger(name)
        if not any(isinstance(handler, _OnStderr) for handler in log.handlers):
            log.addHandler(_OnStderr())
    set_loudness(0)
    if isinstance(sys.stdout, TextIOWrapper):  # escape characters that the terminal can't encode
        sys.stdout.reconfigure(errors="backslashreplace")
    signals: list[int] = []
    code, own_folder = 1, _COMPILED not in os.environ
    try:
        with _stoppable(signals):
            code = commands(argv).main(args=argv, standalone_mode=False) or 0
    except BaseException as error:  # noqa: BLE001 (bugs are raised again)
        if not signals:  # after a signal, the error is only a consequence of the interruption
            code = _exit_code(error)
    if signals and code:
        code = 128 + signals[0]
        problem(
            "interrupted" if signals[0] == signal.SIGINT else f"stopped by {signal.Signals(signals[0]).name}"
        )
    if own_folder and _COMPILED in os.environ:
        with suppress(OSError):  # PyTorch creates the folder on import, but only uses it to compile models
            Path(os.environ[_COMPILED]).rmdir()
    sys.exit(code)


@contextmanager
def _stoppable(signals: list[int]) -> Iterator[None]:
    """Raise `KeyboardInterrupt` on a signal to end the program, and append its number to `signals`.

    The exception lets `finally` blocks remove half-written files. Signals that are ignored (as by nohup) or
    have another handler are left as they are. Python swallows an exception in a destructor, and torch aborts
    on an exception during its import. In both cases the signal is sent again a moment later.
    """
    timers: list[Timer] = []

    def stop(number: int, frame: FrameType | None) -> None:
        if any(_imports_torch(caller) for caller, _ in walk_stack(frame)):
            return send_again(number)
        signals.append(number)
        raise KeyboardInterrupt

    def send_again(number: int) -> None:
        timers.append(Timer(0.01, os.kill, (os.getpid(), number)))
        with suppress(RuntimeError):  # Python is exiting and starts no more threads
            timers[-1].start()

    def resend_lost(unraisable: Any) -> None:
        if signals:
            send_again(signals[0])
        else:
            sys.__unraisablehook__(unraisable)

    defaults = (signal.SIG_DFL, signal.default_int_handler)
    main_thread = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in _SIGNALS if main_thread}
    handlers = {number: handler for number, handler in handlers.items() if handler in defaults}
    hook = sys.unraisablehook
    for number in handlers:
        signal.signal(number, stop)
        sys.unraisablehook = resend_lost
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()
        sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _imports_torch(frame: FrameType) -> bool:
    package = frame.f_globals.get("__name__", "").partition(".")[0]
    return frame.f_code.co_name == "<module>" and package == "torch"


def _exit_code(error: BaseException) -> int:
    """Print an error as a single line and return the exit code. Unexpected errors (bugs) are raised again."""
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        text = " ".join(error.format_message().split()).rstrip(".")
        if text:  # without a command, help was printed and the text is empty
            end = "" if text.endswith("?") else "."
            problem(f"error: {text}{end} See {context.command_path} --help" if context else f"error: {text}")
        return EXIT_USAGE
    if isinstance(error, StoppedError):
        problem(str(error))
        return 130 if error.signal == signal.SIGINT else 143
    reason = str(error) if isinstance(error, EcgError) else _not_installed(error) or _system_error(error)
    if reason is None:
        raise error
    if isinstance(error, UnknownSettingError):
        from marecg_cli._settings import owners

        reason += owners(error.setting)
    logger.debug("traceback", exc_info=error)
    problem(f"error: {reason}")
    return EXIT_USAGE if isinstance(error, UsageError) else EXIT_UNREADABLE


def _not_installed(error: BaseException) -> str | None:
    if not isinstance(error, ModuleNotFoundError) or error.name not in PACKAGES:
        return None
    package = error.name.replace("_", "-")
    return f"this command needs the package {package}. Run pip install {package}."


def _system_error(error: BaseException) -> str | None:
    """Return the message for an error of the operating system, or `None` if the error is a bug."""
    if isinstance(error, UnicodeEncodeError):
        if error.reason != "surrogates not allowed":
            return None
        path = error.object.encode(errors="backslashreplace").decode()
        return f"{path}: a name in this path isn't UTF-8. Rename it."
    in_torch = type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)
    if in_torch or isinstance(error, MemoryError) or getattr(error, "errno", 0) == errno.ENOMEM:
        return "there is not enough memory. Use a smaller batch_size or fewer --jobs."
    if not isinstance(error, OSError):
        return str(error) if str(error).startswith("Symlink loop") else None  # from `Path.resolve`
    if error.filename is not None:  # other files than the user's input and output, which raise EcgError
        return f"{error.filename}: {error.strerror}. Check that it can be read and written."
    return f"the output cannot be written ({error.strerror or error})"  # stdout, for example on a full disk


class _OnStderr(logging.Handler):
    """Log handler that prints to the current stderr. Records of packages get their level as a prefix."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a log record."""
        prefix = "" if record.name.startswith(LOGGERS[0]) else f"{record.levelname.lower()}: "
        text = printable(prefix + self.format(record), keep="\n" if record.exc_info else "")
        with suppress(OSError):  # if stderr can't be written, no message can be printed
            typer.echo(text, err=True)
