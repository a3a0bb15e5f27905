"""Error classes for records and for folders of records. `Reason` lists what can make a record unusable."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum

from ecg_base import InputError


def in_short(differences: Sequence[str], most: int = 6) -> str:
    """Return the first `most` texts in a single line, with the number of the texts that are left out.

    Example:
        >>> in_short(["- edge AMI OMI", "+ node 40 Leaf LQT", "+ edge LQT Rhythm"], most=2)
        '- edge AMI OMI; + node 40 Leaf LQT; and 1 more'
    """
    more = [f"and {len(differences) - most} more"] if len(differences) > most else []
    return "; ".join([*differences[:most], *more])


class CorpusError(InputError):
    """A prepared corpus or a folder of records can't be used."""


class SourceGoneError(CorpusError):
    """A folder of records became unreachable. Its records may be good, so they are not rejected."""


class RecordError(InputError):
    """A record can't be used. `reason` is a short name of the cause, such as `truncated`."""

    def __init__(self, reason: str, problem: str, *, where: object = "", remedy: str = "") -> None:
        super().__init__(problem, where=where, remedy=remedy)
        self.reason = reason


@contextmanager
def located(where: object) -> Iterator[None]:
    """Add `where`, such as a file, to a `RecordError` that the `with` block raises without a location."""
    try:
        yield
    except RecordError as error:
        if error.where:
            raise
        raise RecordError(error.reason, error.problem, where=where, remedy=error.remedy) from error


class Reason(StrEnum):
    """Reasons why a record can be unusable."""

    # The header.
    unreadable = "unreadable"  # not text, or not a regular file
    unavailable = "unavailable"  # temporarily unreachable in the file system, so the next run retries
    header = "header"  # not a WFDB header, or a header that contradicts itself
    multi_segment = "multi-segment"
    sampling_rate = "sampling-rate"
    gain = "gain"  # missing or zero, so the samples have no unit
    units = "units"
    # The signal file.
    path = "path"  # outside the source folder
    no_signal_file = "no-signal-file"
    truncated = "truncated"
    checksum = "checksum"  # all checksums differ, and the limb leads contradict one another
    signal_format = "format"
    # The dataset's table.
    unlisted = "unlisted"  # the table has no row for the record
    labels = "labels"  # the record's row in the table is invalid
    # The leads.
    missing_lead = "missing-lead"
    duplicated_lead = "duplicated-lead"
    shape = "shape"  # the array's axes don't match the named leads and their samples
    too_long = "too-long"  # exceeds a limit of `ecg_records.stretch`
    duplicate = "duplicate"  # same signal as an earlier record (only in the MAR-ECG paper's corpus)
    # The signal itself (MAR-ECG paper, §Signal preprocessing; thresholds in `QualityLimits`).
    too_short = "too-short"
    nan = "nan"
    flat_lead = "flat-lead"
    zero_fraction = "zero-fraction"
    clipping = "clipping"
    extreme_amplitude = "extreme-amplitude"
