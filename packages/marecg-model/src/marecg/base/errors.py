"""Errors of records, recipes, runs and checkpoints, all subclasses of `ecg_base.EcgError`.

One `except EcgError` catches all of them. The commands' exit code stands beside its branch::

    EcgError                        a problem that the user can mend
    ├── UsageError                  2: the request itself is wrong
    │   ├── ConfigError             a recipe's key or value
    │   └── UnknownConceptError     no concept has this index or abbreviation
    ├── InputError                  3: something that should be read can't be
    │   ├── SourceError             an ontology's source
    │   ├── CorpusError             a corpus, or a folder of records
    │   │   ├── SourceGoneError     a folder of records can't be reached any more
    │   │   └── WorkerKilledError   a process was killed by somebody else
    │   ├── CheckpointError         a checkpoint, or an exported model
    │   └── RecordError             one record, with the reason that reports count
    ├── OutputError                 3: something that should be written can't be
    ├── DivergedError               gradients stay infinite or undefined
    ├── PeerError                   another process of the run is silent
    └── StoppedError                a signal ended the training
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum

from ecg_base import EcgError, InputError, OutputError, UsageError

__all__ = [
    "CheckpointError",
    "ConfigError",
    "CorpusError",
    "DivergedError",
    "EcgError",
    "InputError",
    "OutputError",
    "PeerError",
    "Reason",
    "RecordError",
    "SourceGoneError",
    "StoppedError",
    "UsageError",
    "in_short",
    "located",
]


def in_short(differences: Sequence[str], most: int = 6) -> str:
    """Return the first differences in one line, and the number of further ones.

    Example:
        >>> in_short(["- edge AMI OMI", "+ node 40 Leaf LQT", "+ edge LQT Rhythm"], most=2)
        '- edge AMI OMI; + node 40 Leaf LQT; and 1 more'
    """
    more = [f"and {len(differences) - most} more"] if len(differences) > most else []
    return "; ".join([*differences[:most], *more])


class ConfigError(UsageError):
    """A recipe or a `--set` names an unknown key or an impossible value."""


class CorpusError(InputError):
    """A prepared corpus, or a folder of records, can't be used."""


class SourceGoneError(CorpusError):
    """A folder of records can't be reached any more; its records were not judged."""


class CheckpointError(InputError):
    """A checkpoint or exported model is damaged, or belongs to another enumeration or architecture."""


class DivergedError(EcgError):
    """Gradients of a training stay infinite or undefined."""


class PeerError(EcgError):
    """Another process of the run no longer answers."""


class StoppedError(EcgError):
    """A signal ended training early; `signal` is its number, `step` the last step in the checkpoint."""

    def __init__(self, signal: int, step: int, *, where: object = "") -> None:
        super().__init__(f"stopped at step {step}; the same command goes on", where=where)
        self.signal = signal
        self.step = step


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
