"""The cardiac concept graph of MAR-ECG: routing, distances and soft targets.

`load` gives an `Ontology`; everything else hangs on it. No array library, graph library or RDF library is
imported before it is needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ecg_ontology.concepts import Concept, Finding, Kind, Regime, Relation, Route, Severity, Status, Tier
from ecg_ontology.drafts import Erratum
from ecg_ontology.errors import (
    EcgError,
    InputError,
    OutputError,
    SourceError,
    UnknownConceptError,
    UsageError,
)
from ecg_ontology.loading import errata, load, validate
from ecg_ontology.ontology import Ontology

if TYPE_CHECKING:
    from ecg_ontology.corpora import Corpus, read_corpus
    from ecg_ontology.coverage import Coverage, coverage_of
    from ecg_ontology.diff import Difference, compare
    from ecg_ontology.draw import draw_distances, draw_graph
    from ecg_ontology.explain import Explanation, explain_codes
    from ecg_ontology.exports import export

_LATER = {
    "Corpus": "corpora",
    "Coverage": "coverage",
    "Difference": "diff",
    "Explanation": "explain",
    "compare": "diff",
    "coverage_of": "coverage",
    "draw_distances": "draw",
    "draw_graph": "draw",
    "explain_codes": "explain",
    "export": "exports",
    "read_corpus": "corpora",
}
"""Public names whose modules need arrays: imported when they are first asked for."""

__all__ = [
    "Concept",
    "Corpus",
    "Coverage",
    "Difference",
    "EcgError",
    "Erratum",
    "Explanation",
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
    "compare",
    "coverage_of",
    "draw_distances",
    "draw_graph",
    "errata",
    "explain_codes",
    "export",
    "load",
    "read_corpus",
    "validate",
]


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(import_module(f"ecg_ontology.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
