"""Error classes for ontologies."""

from ecg_base import EcgError, InputError, UsageError

__all__ = ["EcgError", "InputError", "SourceError", "UnknownConceptError", "UsageError"]


class SourceError(InputError):
    """An ontology source is unreadable or doesn't describe a concept graph."""


class UnknownConceptError(UsageError):
    """No concept has this index, abbreviation or name."""
