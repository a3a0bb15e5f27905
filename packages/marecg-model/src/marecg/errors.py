"""What can go wrong with records, recipes, runs and checkpoints: branches of `ecg_ontology.EcgError`."""

from ecg_ontology.errors import EcgError, InputError, OutputError, UsageError

__all__ = [
    "CheckpointError",
    "ConfigError",
    "CorpusError",
    "DivergedError",
    "EcgError",
    "InputError",
    "OutputError",
    "RecordError",
    "UsageError",
]


class ConfigError(UsageError):
    """A recipe or a `--set` names an unknown key or an impossible value."""


class CorpusError(InputError):
    """A prepared corpus, or a folder of records, can't be used as a whole."""


class CheckpointError(InputError):
    """A checkpoint or exported model is damaged, or belongs to another enumeration or architecture."""


class DivergedError(EcgError):
    """Training has come to gradients that stay infinite or undefined."""


class RecordError(InputError):
    """One record can't be used; `reason` is the short name under which reports count it."""

    def __init__(self, reason: str, problem: str, *, where: object = "", remedy: str = "") -> None:
        super().__init__(problem, where=where, remedy=remedy)
        self.reason = reason
