"""Errors of records and of folders of records. `Reason` names what makes a record unusable."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum

from ecg_base import InputError


def in_short(differences: Sequence[str], most: int = 6) -> str:
    """Return the first `most` differences in one line, and the number of further differences.

    Example:
        >>> in_short(["- edge AMI OMI", "+ node 40 Leaf LQT", "+ edge LQT Rhythm"], most=2)
        '- edge AMI OMI; + node 40 Leaf LQT; and 1 more'
    """
    more = [f"and {len(differences) - most} more"] if len(differences) > most else []
    return "; ".join([*differences[:most], *more])


class CorpusError(InputError):
    """Error of a prepared corpus or a folder of records that can't be used."""


class SourceGoneError(CorpusError):
    """Error of a folder of records that became unreachable. Its records were not judged."""


class RecordError(InputError):
    """Error of an unusable record. Reports count errors by their short `reason`."""

    def __init__(self, reason: str, problem: str, *, where: object = "", remedy: str = "") -> None:
        super().__init__(problem, where=where, remedy=remedy)
        self.reason = reason


@contextmanager
def located(where: object) -> Iterator[None]:
    """Add `where` to a `RecordError` that is raised in the block without a place."""
    try:
        yield
    except RecordError as error:
        if error.where:
            raise
        raise RecordError(error.reason, error.problem, where=where, remedy=error.remedy) from error


class Reason(StrEnum):
    """Reasons why a record can be unusable. A reason names the finding, not its cause."""

    # The header.
    unreadable = "unreadable"  # not a text, or not a file
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
    labels = "labels"  # the row of the record makes no sense
    # The leads.
    missing_lead = "missing-lead"
    duplicated_lead = "duplicated-lead"
    shape = "shape"  # the array's axes don't match the named leads and their samples
    too_long = "too-long"  # exceeds a limit of `ecg_records.stretch`
    duplicate = "duplicate"  # the same signal as an earlier record (only in the paper's corpus)
    # The signal itself (paper, §Signal preprocessing; thresholds in `QualityLimits`).
    too_short = "too-short"
    nan = "nan"
    flat_lead = "flat-lead"
    zero_fraction = "zero-fraction"
    clipping = "clipping"
    extreme_amplitude = "extreme-amplitude"
