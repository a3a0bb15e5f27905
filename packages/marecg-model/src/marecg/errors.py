"""Errors of records, recipes, runs and checkpoints, all subclasses of `ecg_base.EcgError`.

One `except EcgError` catches all of them. The commands' exit code stands beside its branch::

    EcgError                        a problem that the user can mend
    ├── UsageError                  2: the request itself is wrong
    │   ├── ConfigError             a recipe's key or value
    │   │   └── UnknownSettingError no setting has this name
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

from ecg_base import (
    ConfigError,
    EcgError,
    InputError,
    OutputError,
    StoppedError,
    UnknownSettingError,
    UsageError,
)
from ecg_records.errors import CorpusError, Reason, RecordError, SourceGoneError, in_short, located

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
    "UnknownSettingError",
    "UsageError",
    "in_short",
    "located",
]


class CheckpointError(InputError):
    """A checkpoint or exported model is damaged, or belongs to another enumeration or architecture."""


class DivergedError(EcgError):
    """Gradients of a training stay infinite or undefined."""


class PeerError(EcgError):
    """Another process of the run no longer answers."""
