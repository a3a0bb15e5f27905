"""Errors of records, recipes, runs and checkpoints, all subclasses of `ecg_base.EcgError`.

`except EcgError` catches all of them. The tree shows the exit codes of the commands::

    EcgError                        a problem that the user can fix
    ├── UsageError                  2: the request itself is wrong
    │   ├── ConfigError             a recipe's key or value
    │   │   └── UnknownSettingError no setting has this name
    │   └── UnknownConceptError     no concept has this index or abbreviation
    ├── InputError                  3: an input can't be read
    │   ├── SourceError             a source file of an ontology
    │   ├── CorpusError             a corpus, or a folder of records
    │   │   ├── SourceGoneError     a folder of records has become unreachable
    │   │   └── WorkerKilledError   a worker process was killed from outside
    │   ├── CheckpointError         a checkpoint, or an exported model
    │   └── RecordError             a single record; reports count the reasons
    ├── OutputError                 3: an output can't be written
    ├── DivergedError               gradients stay infinite or undefined
    ├── PeerError                   another process of the run doesn't respond
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
    """Error for a checkpoint or exported model that is damaged, or doesn't fit the ontology or the model."""


class DivergedError(EcgError):
    """Error raised when the gradients of a training stay infinite or undefined."""


class PeerError(EcgError):
    """Error raised when another process of the run doesn't respond."""
