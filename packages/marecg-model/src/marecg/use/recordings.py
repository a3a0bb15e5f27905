"""From records found to what the encoder takes; those that it can't take are named, with the reason.

Shapes: K leads as found, L samples.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from marecg.ecg.signal import amplitude_doubt
from marecg.ecg.windows import Recording, recording
from marecg.errors import InputError, UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.read.record import Candidate, Record, as_text
from marecg.read.stores import ahead


@dataclass(frozen=True)
class Embedded:
    """What was embedded.

    Attributes:
        ids: the records, in the order of the file.
        failed: what could not be read, with the reason.
        doubtful: what was embedded but is hardly in mV, with the reason.
        told: of each record, a value for every column of `vectors.TOLD`.
    """

    ids: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    doubtful: dict[str, str] = field(default_factory=dict)
    told: list[dict[str, Any]] = field(default_factory=list, repr=False)

    def add(self, other: "Embedded") -> None:
        """Count other records too, but for what is told of them."""
        self.ids.extend(other.ids)
        self.failed.update(other.failed)
        self.doubtful.update(other.doubtful)


def none_read(failed: Mapping[str, str]) -> InputError:
    """The error where every record failed, with the first one's reason."""
    first = next(iter(failed.values()))
    return InputError(f"not one record could be read, the first because: {first}")


def recordings(model: MarEcg, found: Iterable[tuple[str, Candidate]], done: Embedded) -> Iterator[Recording]:
    """What the encoder takes, one after another; all that becomes of the records is noted in `done`."""
    for name, candidate in ahead(found):
        try:
            record = candidate.read()
            whole, doubt = prepared(record, candidate.place, model)
        except InputError as error:
            done.failed[name] = as_text(str(error))
            continue
        if doubt:
            done.doubtful[name] = doubt
        done.ids.append(name)
        codes = list(record.codes)
        done.told.append(
            {"record": record.id, "source": record.source, "patient": record.patient, "codes": codes}
        )
        yield whole


def prepared(record: Record, place: str | Path, model: MarEcg) -> tuple[Recording, str | None]:
    """A record as the encoder takes it, and why it is hardly in mV. Raises `InputError` where it can't be."""
    try:
        whole = recording(record.x_KL, record.fs, record.leads, model.config)
    except UsageError as error:
        raise InputError(error.problem, where=place, remedy=error.remedy) from error
    return whole, amplitude_doubt(record.x_KL)
