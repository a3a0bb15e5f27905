"""Work in copies of this process, which has paid for the imports: to be killed, or to be one of several."""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable


def start(work: Callable[[], object], printed: str = os.devnull) -> int:
    """Do some work in a copy of this process; the copy's id.

    Args:
        work: what it does. Its exit code is that of a `SystemExit`, else 0, or 1 after an error.
        printed: the file that takes what it prints.
    """
    sys.stdout.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # it waits until it is caught below
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return pid
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job has it ignored
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        out = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.stdout, sys.stderr = (open(place, "w", 1, closefd=False) for place in (1, 2))  # noqa: SIM115
        work()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:  # before a command has begun: Python ends a process so that a shell sees 130
        code = 130
    except BaseException:  # noqa: BLE001 (whatever it is, it is told)
        traceback.print_exc()
    finally:
        os._exit(code)


def end(pid: int) -> int:
    """Wait for a copy: its exit code, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def end_all(pids: list[int]) -> list[int]:
    """Wait for copies that wait for each other: how each ended; the others are killed when one fails."""
    ends: dict[int, int] = {}
    while waiting := [pid for pid in pids if pid not in ends]:
        for pid in waiting:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                ends[pid] = os.waitstatus_to_exitcode(status)
        if any(ends.values()):
            for pid in set(waiting) - ends.keys():
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    return [ends[pid] for pid in pids]


def run(work: Callable[[], object], printed: str = os.devnull) -> int:
    """Do some work in a copy of this process and wait for it; how it ended."""
    return end(start(work, printed))


def command(argv: list[str], printed: str, surround: Callable[[], object] = bool) -> int:
    """Run a command, `marecg`'s or ecgonto's, in a copy of this process, after `surround`; the copy's id."""
    from marecg_cli.ecgonto import main as ecgonto
    from marecg_cli.marecg import main as marecg

    return start(lambda: (surround(), ecgonto(argv[1:]) if argv[0] == "ecgonto" else marecg(argv)), printed)
