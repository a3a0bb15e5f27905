"""Preemption of a run: on a signal, the run finishes its step, saves a checkpoint, and reports the signal.

Schedulers send SIGTERM before they kill a job. If configured, they send SIGUSR1 before the time limit. The
kernel sends SIGXCPU at a limit of CPU time (`ulimit -t`). Ctrl-C sends SIGINT.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = [signal.SIGTERM, signal.SIGUSR1, signal.SIGXCPU, signal.SIGINT]
IMPATIENT = 2.0
"""Seconds after which another SIGINT counts as a second Ctrl-C.

Launchers forward the first Ctrl-C, so it arrives twice.
"""


@contextmanager
def left_to_others() -> Iterator[None]:
    """Restore SIGTERM's default action in the block. The training processes handle the signal themselves."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Preemption:
    """Record of the signal to end the run, received by any of its processes. None without a signal."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._asked = 0.0
        self._heard: list[signal.Signals] = []

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Catch signals in the block, and restore the handlers afterwards.

        Ignored signals stay ignored, because a shell's background job must not react to Ctrl-C.
        """
        before = {number: signal.getsignal(number) for number in SIGNALS}
        self._heard = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
        self.listen()
        try:
            yield
        finally:
            if threading.current_thread() is threading.main_thread():
                for number, handler in before.items():
                    signal.signal(number, handler)

    def listen(self) -> None:
        """Install the handlers. Python allows this only in the main thread."""
        if threading.current_thread() is threading.main_thread():
            for number in self._heard:
                signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.signal is None:
            self.signal, self._asked = number, now
        elif number == signal.SIGINT and now > self._asked + IMPATIENT:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
