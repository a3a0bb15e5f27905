"""The cardiac concept graph of MAR-ECG: routing, distances and soft targets.

`load` gives an `Ontology`; everything else hangs on it. Importing the package imports nothing else: each
public name brings its module when it is first used, so one code is routed without arrays, graphs or RDF.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ecg_ontology.coded import CodedRecords
    from ecg_ontology.concepts import Concept, Finding, Kind, Regime, Relation, Route, Severity, Status, Tier
    from ecg_ontology.corpora import Corpus, read_corpus
    from ecg_ontology.coverage import Coverage, coverage_of
    from ecg_ontology.diff import Difference, compare
    from ecg_ontology.drafts import Erratum
    from ecg_ontology.draw import draw_distances, draw_graph
    from ecg_ontology.errors import (
        EcgError,
        InputError,
        OutputError,
        SourceError,
        UnknownConceptError,
        UsageError,
    )
    from ecg_ontology.explain import Explanation, explain_codes
    from ecg_ontology.exports import export
    from ecg_ontology.graph import ConceptGraph
    from ecg_ontology.loading import errata, load, validate
    from ecg_ontology.ontology import Ontology

    __version__: str

_HOMES = {
    "coded": ("CodedRecords",),
    "concepts": ("Concept", "Finding", "Kind", "Regime", "Relation", "Route", "Severity", "Status", "Tier"),
    "corpora": ("Corpus", "read_corpus"),
    "coverage": ("Coverage", "coverage_of"),
    "diff": ("Difference", "compare"),
    "drafts": ("Erratum",),
    "draw": ("draw_distances", "draw_graph"),
    "errors": ("EcgError", "InputError", "OutputError", "SourceError", "UnknownConceptError", "UsageError"),
    "explain": ("Explanation", "explain_codes"),
    "exports": ("export",),
    "graph": ("ConceptGraph",),
    "loading": ("errata", "load", "validate"),
    "ontology": ("Ontology",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "CodedRecords",
    "Concept",
    "ConceptGraph",
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


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("ecg-ontology")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value  # asked for once
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
