"""Records that get a process killed, as by the kernel for lack of memory.

They are named, and the rest goes on. A killed process has left the name of the record that it was at
(`shards.notes`). Each record named so is read once more, by a process that does nothing else; what kills that
one, too, is quarantined.
"""

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError

from marecg.base.config import CorpusConfig
from marecg.base.errors import Reason
from marecg.corpus.prepare_record import prepare_block
from marecg.corpus.shards import NOTES
from marecg.corpus.workers import begin
from marecg.read.record import Candidate, Unusable

logger = logging.getLogger(__name__)
KILLED = Unusable(Reason.memory, "whoever reads it is killed, as for lack of memory")


def killers(candidates: Sequence[Candidate], folder: Path, config: CorpusConfig) -> set[str]:
    """The places of those records, among the ones that are noted in a folder; the notes are removed."""
    names = set()
    for path in folder.glob(NOTES):
        names.add(path.read_text(encoding="utf-8", errors="replace"))
        path.unlink()
    return {each.place for each in candidates if each.place in names and _kills(each, config)}


def without(candidates: Sequence[Candidate], places: set[str]) -> Sequence[Candidate]:
    """The candidates, those at some places marked so that nobody reads them."""
    for place in sorted(places):
        logger.warning("%s: %s", place, KILLED.problem)
    return [replace(each, about=KILLED) if each.place in places else each for each in candidates]


def _kills(candidate: Candidate, config: CorpusConfig) -> bool:
    with TemporaryDirectory(prefix="marecg-") as below:
        executor = get_reusable_executor(1, initializer=begin, initargs=(os.getpid(), below))
        try:
            executor.submit(prepare_block, [candidate], config).result()
        except TerminatedWorkerError:
            return True
        finally:
            executor.shutdown(wait=True)
    return False
