"""Errors of records and of folders of records; `Reason` names what makes a record unusable."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum

from ecg_base import InputError


def in_short(differences: Sequence[str], most: int = 6) -> str:
    """Return the first differences in one line, and the number of further ones.

    Example:
        >>> in_short(["- edge AMI OMI", "+ node 40 Leaf LQT", "+ edge LQT Rhythm"], most=2)
        '- edge AMI OMI; + node 40 Leaf LQT; and 1 more'
    """
    more = [f"and {len(differences) - most} more"] if len(differences) > most else []
    return "; ".join([*differences[:most], *more])


class CorpusError(InputError):
    """A prepared corpus, or a folder of records, can't be used."""


class SourceGoneError(CorpusError):
    """A folder of records can't be reached any more; its records were not judged."""


class RecordError(InputError):
    """Error of one unusable record; reports count it under its short `reason`."""

    def __init__(self, reason: str, problem: str, *, where: object = "", remedy: str = "") -> None:
        super().__init__(problem, where=where, remedy=remedy)
        self.reason = reason


@contextmanager
def located(where: object) -> Iterator[None]:
    """Add `where` to a `RecordError` that leaves the block without a place."""
    try:
        yield
    except RecordError as error:
        if error.where:
            raise
        raise RecordError(error.reason, error.problem, where=where, remedy=error.remedy) from error


class Reason(StrEnum):
    """Reasons for which a record can be unusable; a reason names the finding, not its cause."""

    # The header.
    unreadable = "unreadable"  # no text, or no file
    unavailable = "unavailable"  # the file system didn't give it: the next start tries again
    header = "header"  # not a WFDB header, or one that contradicts itself
    multi_segment = "multi-segment"
    sampling_rate = "sampling-rate"
    gain = "gain"  # missing or zero: the samples have no unit
    units = "units"
    # The signal file.
    path = "path"  # it lies outside the source folder
    no_signal_file = "no-signal-file"
    truncated = "truncated"
    checksum = "checksum"  # all checksums differ, and the limb leads contradict one another
    signal_format = "format"
    # The dataset's table.
    unlisted = "unlisted"  # it does not name the record
    labels = "labels"  # its row makes no sense
    # The leads.
    missing_lead = "missing-lead"
    duplicated_lead = "duplicated-lead"
    shape = "shape"  # an array whose axes are not the leads named and their samples
    too_long = "too-long"  # beyond the bounds of `read.stretch`
    # The signal itself (paper, §Signal preprocessing; thresholds in `QualityLimits`).
    too_short = "too-short"
    nan = "nan"
    flat_lead = "flat-lead"
    zero_fraction = "zero-fraction"
    clipping = "clipping"
    extreme_amplitude = "extreme-amplitude"
