"""Whether an encoder was pretrained on records that it is judged by.

Shapes: M labelled records, C leads, L samples.
"""

from collections.abc import Iterable, Set
from pathlib import Path

import numpy as np

from marecg.base.errors import RecordError
from marecg.corpus import trained_on
from marecg.corpus.trained_on import TrainedOn
from marecg.evaluate.scores.results import Leak
from marecg.evaluate.tasks.task import FS, TRAIN, Recordings, Task


def leak(run: Path, *rotations: Task) -> Leak | None:
    """The val and test records of a task that a run was pretrained on; None where nobody knows of any.

    A run that began from weights without a list of their records is not known to be clean: what is found
    counts, and where nothing is, nobody knows.

    Signals are compared as they stand in the task: bit-identical copies are found under any name, rescaled
    ones are not (`marecg audit` looks for those). Where a copy in the corpus names no patient, as the
    Challenges' of PTB-XL don't, the patient is that of the record that it is a copy of.
    """
    trained = trained_on.read(run)
    if trained is None:
        return None
    recordings = rotations[0].recordings
    judged = sorted({int(row) for task in rotations for row in task.row_M[task.split_M != TRAIN]})
    by_id = _of(recordings.identities, trained.identities, judged)
    copied = {recordings.patient_by_identity.get(name) for name in trained.identities} - {None}
    by_patient = _of(recordings.patients, trained.patients | copied, judged) - by_id
    rest = [row for row in judged if row not in by_id | by_patient]
    by_signal = {row for row in rest if _seen(recordings, row, trained)}
    if not trained.complete and not by_id | by_patient | by_signal:
        return None
    return Leak(
        records=len(by_id | by_patient | by_signal),
        same_record=_names(recordings, by_id),
        same_patient=_names(recordings, by_patient),
        same_signal=_names(recordings, by_signal),
    )


def _of(names: tuple[str | None, ...], trained: Set[str | None], rows: Iterable[int]) -> set[int]:
    return {row for row in rows if names and names[row] in trained}


def _seen(recordings: Recordings, row: int, trained: TrainedOn) -> bool:
    """Whether a window that training would have cut from this recording is one of those it saw."""
    if trained.fs != FS:
        return False
    try:
        x_CL = recordings.read(row)
    except RecordError:
        return False
    if not np.isfinite(x_CL).all():
        return False
    return trained.saw(x_CL)


def _names(recordings: Recordings, rows: set[int]) -> tuple[str, ...]:
    return tuple(recordings.ids[row] for row in sorted(rows))
