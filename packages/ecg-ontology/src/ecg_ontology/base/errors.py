"""Errors of an ontology, beside those that all packages share."""

from ecg_base import EcgError, InputError, UsageError

__all__ = ["EcgError", "InputError", "SourceError", "UnknownConceptError", "UsageError"]


class SourceError(InputError):
    """An ontology source is unreadable or does not describe a concept graph."""


class UnknownConceptError(UsageError):
    """No concept carries this index or abbreviation."""
