"""Records that get a process killed, as by the kernel for lack of memory.

They are named, and the rest goes on. A killed process has left the name of the record that it was at
(`shards.notes`). Each record named so is read once more, by a process that does nothing else; what kills that
one, too, is quarantined.
"""

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError

from marecg.base.config import CorpusConfig
from marecg.base.errors import Reason
from marecg.corpus.prepare_record import prepare_block
from marecg.corpus.shards import NOTES
from marecg.corpus.workers import WorkerKilledError, begin
from marecg.read.record import Candidate, Unusable

logger = logging.getLogger(__name__)
T = TypeVar("T")
Result = TypeVar("Result")
KILLED = Unusable(Reason.memory, "whoever reads it is killed, as for lack of memory")


def killers(candidates: Sequence[Candidate], folder: Path, config: CorpusConfig) -> set[str]:
    """The places of those records, among the ones that are noted in a folder; the notes are removed."""
    names = noted(folder)
    return {each.place for each in candidates if each.place in names and kills(prepare_block, [each], config)}


def noted(folder: Path) -> set[str]:
    """The names that killed processes have left in a folder; the notes are removed."""
    names = set()
    for path in folder.glob(NOTES):
        names.add(path.read_text(encoding="utf-8", errors="replace"))
        path.unlink()
    return names


def without(candidates: Sequence[Candidate], places: set[str]) -> Sequence[Candidate]:
    """The candidates, those at some places marked so that nobody reads them."""
    for place in sorted(places):
        logger.warning("%s: %s", place, KILLED.problem)
    return [replace(each, about=KILLED) if each.place in places else each for each in candidates]


def without_killers(work: Callable[[set[T]], Result], find: Callable[[], set[T]]) -> Result:
    """What some work gives that leaves out whatever gets its processes killed.

    `find` names the killers among what killed processes have noted, of a former call at first. Raises
    `WorkerKilledError` where a process was killed, and no item does that on its own.
    """
    killers = find()
    while True:
        try:
            return work(killers)
        except WorkerKilledError:
            more = find() - killers
            if not more:
                raise
            killers |= more


def kills(read: Callable[..., object], *given: object) -> bool:
    """Whether a process that does nothing but `read` what is given is killed."""
    with TemporaryDirectory(prefix="marecg-") as below:
        executor = get_reusable_executor(1, initializer=begin, initargs=(os.getpid(), below))
        try:
            executor.submit(read, *given).result()
        except TerminatedWorkerError:
            return True
        finally:
            executor.shutdown(wait=True)
    return False
