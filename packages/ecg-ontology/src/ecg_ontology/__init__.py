"""The cardiac concept graph of MAR-ECG: routing, distances and soft targets.

`load` gives an `Ontology`; everything else hangs on it. No array library, graph library or RDF library is
imported before it is needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ecg_ontology.concepts import Concept, Finding, Kind, Regime, Relation, Route, Severity, Status, Tier
from ecg_ontology.errors import (
    EcgError,
    InputError,
    OutputError,
    SourceError,
    UnknownConceptError,
    UsageError,
)
from ecg_ontology.loading import load, validate
from ecg_ontology.ontology import Ontology

if TYPE_CHECKING:
    from ecg_ontology.exports import export

_LATER = {"export": "ecg_ontology.exports"}
"""Public names whose modules need arrays: imported when they are first asked for."""

__all__ = [
    "Concept",
    "EcgError",
    "Finding",
    "InputError",
    "Kind",
    "Ontology",
    "OutputError",
    "Regime",
    "Relation",
    "Route",
    "Severity",
    "SourceError",
    "Status",
    "Tier",
    "UnknownConceptError",
    "UsageError",
    "export",
    "load",
    "validate",
]


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
