"""Output of both command lines: results on stdout, messages on stderr, and exit codes.

0 fine · 1 findings or an unknown code · 2 wrong usage · 3 input that can't be read or output that
can't be written · 129 its terminal was closed · 130 interrupted · 143 stopped by a scheduler · 152 out of
CPU time.

A message is a log record, as the warnings of the packages are, so -q and -v rule both.
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
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU)
_COMPILED = "TORCHINDUCTOR_CACHE_DIR"
WIDTH = 200
"""Columns of a table where there is no terminal that says how wide it is."""
LOGGERS = ("marecg_cli", "marecg", "ecg_records", "ecg_ontology")
"""Whose log records the commands print."""
PACKAGES = ("ecg_records", "ecg_synth", "marecg")
"""Packages that are installed only if a user wants the commands that need them."""

logger = logging.getLogger(__name__)


def result(text: str) -> None:
    """Print a result to stdout, without terminal control characters except ends of lines."""
    typer.echo(printable(text, keep="\n"))


def result_list(texts: Iterable[str]) -> None:
    """Print millions of results to stdout one by one, each like `result`."""
    for text in texts:
        sys.stdout.write(printable(text, keep="\n") + "\n")


def result_json(value: Any) -> None:
    """Print a result to stdout as JSON."""
    typer.echo(json_text(value))


def result_json_list(items: Iterable[str]) -> None:
    """Print a long list of JSON texts to stdout, item by item."""
    before = "["
    for text in items:
        sys.stdout.write(f"{before}\n  " + text.replace("\n", "\n  "))
        before = ","
    typer.echo("[]" if before == "[" else "\n]")


def json_text(value: Any) -> str:
    """Return a value as JSON without terminal control characters."""
    plain = "utf" not in (getattr(sys.stdout, "encoding", "") or "").lower()
    text = json.dumps(value, indent=2, ensure_ascii=plain, allow_nan=False)
    return UNPRINTABLE.sub(lambda odd: odd[0] if odd[0] == "\n" else f"\\u{ord(odd[0]):04x}", text)


def message(text: str) -> None:
    """Print a message to stderr, unless -q is given."""
    logger.info("%s", text)


def problem(text: str) -> None:
    """Print a failure to stderr, even with -q."""
    logger.error("%s", text)


def say_first(
    what: str, lines: Collection[str], rest: str, say: Callable[[str], None] = message, count: int = 20
) -> None:
    """Report the first lines, and the number of further ones; `rest` names their place."""
    for line in islice(lines, count):
        say(f"{what}: {line}")
    if len(lines) > count:
        say(f"{what}: {len(lines) - count} more {rest}")


def console() -> "Console":
    """Return a terminal of its width or COLUMNS, or a file of long lines; colours by NO_COLOR."""
    from rich.console import Console

    made = Console()
    return made if made.is_terminal or "COLUMNS" in os.environ else Console(width=WIDTH)


def turned(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Heads and lines of a table; its columns as lines where it is wider than the terminal, and short."""
    columns = list(zip(heads, *lines, strict=True))
    fits = sum(3 + max(map(len, column)) for column in columns) < console().width
    if fits or not 0 < len(lines) < len(heads) - 1:
        return heads, list(lines)
    first, *rest = columns
    return first, list(rest)


def set_loudness(level: int) -> None:
    """Set the log level: failures (−1), messages (0), steps (1), or everything (2 and more)."""
    of_packages = {-1: logging.ERROR, 0: logging.WARNING, 1: logging.INFO}.get(level, logging.DEBUG)
    for name in LOGGERS[1:]:
        logging.getLogger(name).setLevel(of_packages)
    logging.getLogger(LOGGERS[0]).setLevel(logging.INFO if level == 0 else of_packages)
    logging.getLogger("lightning.pytorch").setLevel(logging.INFO if level > 1 else logging.WARNING)


def _silence_libraries() -> None:
    """Leave out what libraries say of a home that can't be written and of a missing /dev/shm."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", ".*joblib will operate in serial mode", UserWarning)


def run(commands: Callable[[Sequence[str]], TyperGroup], argv: Sequence[str]) -> NoReturn:
    """Run a command line on arguments; an error or a signal ends in one line."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # else it looks into every package installed
    _silence_libraries()
    for name in LOGGERS:
        log = logging.getLogger(name)
        if not any(isinstance(handler, _OnStderr) for handler in log.handlers):
            log.addHandler(_OnStderr())
    set_loudness(0)
    if isinstance(sys.stdout, TextIOWrapper):  # what a terminal's encoding, or UTF-8, has no letters for
        sys.stdout.reconfigure(errors="backslashreplace")
    signals: list[int] = []
    code, own_folder = 1, _COMPILED not in os.environ
    try:
        with _stoppable(signals):
            code = commands(argv).main(args=argv, standalone_mode=False) or 0
    except BaseException as error:  # noqa: BLE001 (what isn't a user's is raised again)
        if not signals:  # after one, an error is what a library made of it
            code = _exit_code(error)
    if signals and code:
        code = 128 + signals[0]
        problem(
            "interrupted" if signals[0] == signal.SIGINT else f"stopped by {signal.Signals(signals[0]).name}"
        )
    if own_folder and _COMPILED in os.environ:
        with suppress(OSError):  # PyTorch makes the folder on import, and fills it only if it compiles
            Path(os.environ[_COMPILED]).rmdir()
    sys.exit(code)


@contextmanager
def _stoppable(signals: list[int]) -> Iterator[None]:
    """Let a signal that ends a program raise, so that half-written files are removed, and take its number.

    One that is ignored, as behind nohup, or has another's handler stays as it is. What is raised while an
    object is taken away Python only prints, and what is raised while torch is imported its C++ makes an
    `abort`: there it is sent again a moment later.
    """
    timers: list[Timer] = []

    def stop(number: int, frame: FrameType | None) -> None:
        if any(_imports_torch(place) for place, _ in walk_stack(frame)):
            return send_again(number)
        signals.append(number)
        raise KeyboardInterrupt

    def send_again(number: int) -> None:
        timers.append(Timer(0.01, os.kill, (os.getpid(), number)))
        with suppress(RuntimeError):  # no thread starts while Python ends, which it does anyway
            timers[-1].start()

    def lost(unraisable: Any) -> None:
        if signals:
            send_again(signals[0])
        else:
            sys.__unraisablehook__(unraisable)

    untouched = (signal.SIG_DFL, signal.default_int_handler)
    main_thread = threading.current_thread() is threading.main_thread()
    before = {ending: signal.getsignal(ending) for ending in _ENDINGS if main_thread}
    before = {ending: handler for ending, handler in before.items() if handler in untouched}
    hook = sys.unraisablehook
    for ending in before:
        signal.signal(ending, stop)
        sys.unraisablehook = lost
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()
        sys.unraisablehook = hook
        for ending, handler in before.items():
            signal.signal(ending, handler)


def _imports_torch(frame: FrameType) -> bool:
    package = frame.f_globals.get("__name__", "").partition(".")[0]
    return frame.f_code.co_name == "<module>" and package == "torch"


def _exit_code(error: BaseException) -> int:
    """Say in one line what went wrong; raises it again where it is a mistake of the program."""
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        text = " ".join(error.format_message().split()).rstrip(".")
        if text:  # none where all that was missing is a command, and help was printed
            end = "" if text.endswith("?") else "."
            problem(f"error: {text}{end} See {context.command_path} --help" if context else f"error: {text}")
        return EXIT_USAGE
    if isinstance(error, StoppedError):
        problem(str(error))
        return 130 if error.signal == signal.SIGINT else 143
    refused = str(error) if isinstance(error, EcgError) else _not_installed(error) or _refused(error)
    if refused is None:
        raise error
    if isinstance(error, UnknownSettingError):
        from marecg_cli._settings import owners

        refused += owners(error.setting)
    logger.debug("where it happened", exc_info=error)
    problem(f"error: {refused}")
    return EXIT_USAGE if isinstance(error, UsageError) else EXIT_UNREADABLE


def _not_installed(error: BaseException) -> str | None:
    if not isinstance(error, ModuleNotFoundError) or error.name not in PACKAGES:
        return None
    package = error.name.replace("_", "-")
    return f"this command needs the package {package}. Run pip install {package}."


def _refused(error: BaseException) -> str | None:
    """What this machine did not give, or can't take; None where the error is one of the program."""
    if isinstance(error, UnicodeEncodeError):
        if error.reason != "surrogates not allowed":
            return None
        shown = error.object.encode(errors="backslashreplace").decode()
        return f"{shown}: a name in this path isn't UTF-8. Rename it."
    of_torch = type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)
    if of_torch or isinstance(error, MemoryError) or getattr(error, "errno", 0) == errno.ENOMEM:
        return "there is not enough memory. Do less at once: a smaller batch_size, fewer --jobs."
    if not isinstance(error, OSError):
        return str(error) if str(error).startswith("Symlink loop") else None  # of `Path.resolve`
    if error.filename is not None:  # what the program writes, or asks for by name, it reports as EcgError
        return f"{error.filename}: {error.strerror}. Check that it can be read and written."
    return f"the output cannot be written ({error.strerror or error})"  # stdout, say on a full disk


class _OnStderr(logging.Handler):
    """Prints records as lines on what is stderr at the time; those of a package say how grave they are."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one."""
        prefix = "" if record.name.startswith(LOGGERS[0]) else f"{record.levelname.lower()}: "
        text = printable(prefix + self.format(record), keep="\n" if record.exc_info else "")
        with suppress(OSError):  # nowhere is left to say that stderr can't be written
            typer.echo(text, err=True)
