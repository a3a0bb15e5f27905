"""From records to their vectors; those that the encoder can't take are named, with the reason.

Shapes: K leads, L samples.
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from marecg.base.config import ModelConfig
from marecg.base.errors import InputError, RecordError, UsageError
from marecg.corpus.killers import KILLED
from marecg.corpus.shards import notes
from marecg.ecg.signal import amplitude_doubt
from marecg.ecg.windows import Recording
from marecg.model.mar_ecg import MarEcg
from marecg.model.readout import Readout
from marecg.read.record import Record, as_text
from marecg.use.embed import WideEmbeddings, encode
from marecg.use.inputs import Named, Source
from marecg.use.long_signal import read_recording


@dataclass
class Embedded:
    """How many records were embedded; what could not be read, and what is hardly in mV, with the reason."""

    records: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    doubtful: dict[str, str] = field(default_factory=dict)

    def add(self, other: "Embedded") -> None:
        """Count other records too."""
        self.records += other.records
        self.failed |= other.failed
        self.doubtful |= other.doubtful

    def refuse_none(self) -> None:
        """Raise `InputError`, with the first one's reason, where every record failed."""
        if self.failed and not self.records:
            first = next(iter(self.failed.values()))
            raise InputError(f"not one record could be read, the first because: {first}")


def embedded(
    model: MarEcg,
    records: Iterable[Named],
    done: Embedded,
    batch_size: int,
    *,
    readout: Readout = "wide",
    patches: bool,
) -> Iterator[tuple[dict[str, Any], WideEmbeddings]]:
    """The vectors of records, each beside what a row says of it; what became of all is in `done`."""
    waiting: deque[dict[str, Any]] = deque()
    whole = recordings(model, records, done, waiting)
    for vectors in encode(model, whole, batch_size, readout=readout, patches=patches):
        yield waiting.popleft(), vectors


def recordings(
    model: MarEcg, records: Iterable[Named], done: Embedded, waiting: deque[dict[str, Any]]
) -> Iterator[Recording]:
    """Each record that can be read, as the encoder takes it; what a row says of it joins `waiting`."""
    for name, place, read in records:
        try:
            record, whole = read_recording(read, model.config)
        except InputError as error:
            done.failed[name] = as_text(str(error))
            continue
        except UsageError as error:
            refused = InputError(error.problem, where=place, remedy=error.remedy)
            done.failed[name] = as_text(str(refused))
            continue
        if doubt := amplitude_doubt(record.x_KL):
            done.doubtful[name] = doubt
        done.records += 1
        row = {"record": record.id, "source": record.source, "patient": record.patient, "start": record.start}
        waiting.append({"id": name, **row, "codes": list(record.codes)})
        yield whole


def guarded(records: Iterable[Named], first: int, killers: Collection[int], folder: str) -> Iterator[Named]:
    """Records, each noted in a folder, if there is one, by its number; the killers among them aren't read."""
    with notes(Path(folder)) if folder else nullcontext(lambda _: None) as note:
        for number, (name, place, read) in enumerate(records, first):
            note(str(number))
            yield name, place, partial(_refuse, place) if number in killers else read


def _refuse(place: str, **_: object) -> Record:
    raise RecordError(*KILLED, where=place)


def read_only(sources: Iterable[Source], config: ModelConfig) -> None:
    """Read records as `recordings` does, and do nothing else."""
    for _, _, read in chain.from_iterable(sources):
        with suppress(InputError, UsageError):
            read_recording(read, config)
