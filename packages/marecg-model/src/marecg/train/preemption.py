"""Stop a run on a signal, after the current step and a checkpoint.

Schedulers send SIGTERM before they kill a job. They can be configured to send SIGUSR1 before the time limit.
The kernel sends SIGXCPU when the limit of CPU time is reached (`ulimit -t`). Ctrl-C sends SIGINT.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = [signal.SIGTERM, signal.SIGUSR1, signal.SIGXCPU, signal.SIGINT]
SECOND_CTRL_C_S = 2.0
"""If SIGINT arrives more than this many seconds after the first signal, it ends the process immediately.

An earlier SIGINT is ignored, because launchers forward the first Ctrl-C, so that it arrives twice.
"""


@contextmanager
def default_sigterm() -> Iterator[None]:
    """Let SIGTERM end this process at once in a `with` block, while it waits for training processes.

    The training processes also receive SIGTERM, and save their checkpoints themselves. An ignored SIGTERM
    stays ignored.
    """
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
    """Signal handlers that store the signal which ends the run.

    Attributes:
        signal: Number of the signal. None before a signal arrives.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._received_at = 0.0
        self._caught: list[signal.Signals] = []

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Catch signals in a `with` block, and restore the handlers afterwards.

        Ignored signals stay ignored, so that a shell's background job doesn't react to Ctrl-C.
        """
        before = {number: signal.getsignal(number) for number in SIGNALS}
        self._caught = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
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
            for number in self._caught:
                signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.signal is None:
            self.signal, self._received_at = number, now
        elif number == signal.SIGINT and now > self._received_at + SECOND_CTRL_C_S:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
