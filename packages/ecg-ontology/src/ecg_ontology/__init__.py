"""The cardiac concept graph of MAR-ECG: routing, distances and soft targets.

`load` gives an `Ontology`; everything else hangs on it. Importing the package imports nothing else: each
public name brings its module when it is first used, so one code is routed without arrays, graphs or RDF.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ecg_ontology import listings, owl, perturb, reports
    from ecg_ontology.browse import write_page
    from ecg_ontology.building import built_files, stale_files, write_files
    from ecg_ontology.code_tables import CodeTable, read_code_table
    from ecg_ontology.coded import CodedRecords
    from ecg_ontology.concepts import (
        Concept,
        Finding,
        Kind,
        Name,
        Regime,
        Relation,
        Route,
        Severity,
        Status,
        Tier,
    )
    from ecg_ontology.corpora import Corpus, corpus_of, read_corpus
    from ecg_ontology.coverage import Coverage, coverage_of
    from ecg_ontology.diff import Difference, compare
    from ecg_ontology.diff_text import difference_text
    from ecg_ontology.domains import draft_from_networkx
    from ecg_ontology.drafts import Draft, DraftConcept, DraftRelation, Erratum, Header, RoutingRow
    from ecg_ontology.draw import draw_distances, draw_graph, family_colours
    from ecg_ontology.dx import (
        CPSC_LABELS,
        NO_DIAGNOSIS,
        Diagnoses,
        diagnoses,
        header_comments,
        header_lines,
    )
    from ecg_ontology.errors import (
        EcgError,
        InputError,
        OutputError,
        SourceError,
        UnknownConceptError,
        UsageError,
    )
    from ecg_ontology.explain import Explanation, explain_codes, explanation_text
    from ecg_ontology.exports import export
    from ecg_ontology.files import refuse_address, refuse_others, refuse_pipe, replacing
    from ecg_ontology.graph import ConceptGraph
    from ecg_ontology.languages import label_in, language_notes, languages_of
    from ecg_ontology.loading import errata, load, validate
    from ecg_ontology.matching import Candidate, NewCode, candidate_rows, match_label, read_new_codes
    from ecg_ontology.ontology import Ontology
    from ecg_ontology.positions import node_positions
    from ecg_ontology.review import review_rows, write_review
    from ecg_ontology.revise import decision_counts, read_decisions, revised_files
    from ecg_ontology.routing_file import Decision
    from ecg_ontology.search import Field, Hit, Match, find_concept, search_concepts, suggestions
    from ecg_ontology.snomed import review_release
    from ecg_ontology.tree import Branch, branches

    __version__: str

_HOMES = {
    "building": ("built_files", "stale_files", "write_files"),
    "code_tables": ("CodeTable", "read_code_table"),
    "coded": ("CodedRecords",),
    "concepts": (
        "Concept",
        "Finding",
        "Kind",
        "Name",
        "Regime",
        "Relation",
        "Route",
        "Severity",
        "Status",
        "Tier",
    ),
    "corpora": ("Corpus", "corpus_of", "read_corpus"),
    "coverage": ("Coverage", "coverage_of"),
    "diff": ("Difference", "compare"),
    "dx": ("CPSC_LABELS", "NO_DIAGNOSIS", "Diagnoses", "diagnoses", "header_comments", "header_lines"),
    "drafts": ("Draft", "DraftConcept", "DraftRelation", "Erratum", "Header", "RoutingRow"),
    "domains": ("draft_from_networkx",),
    "draw": ("draw_distances", "draw_graph", "family_colours"),
    "errors": ("EcgError", "InputError", "OutputError", "SourceError", "UnknownConceptError", "UsageError"),
    "explain": ("Explanation", "explain_codes", "explanation_text"),
    "exports": ("export",),
    "files": ("refuse_address", "refuse_others", "refuse_pipe", "replacing"),
    "graph": ("ConceptGraph",),
    "languages": ("label_in", "language_notes", "languages_of"),
    "search": ("Field", "Hit", "Match", "find_concept", "search_concepts", "suggestions"),
    "tree": ("Branch", "branches"),
    "review": ("review_rows", "write_review"),
    "routing_file": ("Decision",),
    "revise": ("decision_counts", "read_decisions", "revised_files"),
    "matching": ("Candidate", "NewCode", "candidate_rows", "match_label", "read_new_codes"),
    "browse": ("write_page",),
    "diff_text": ("difference_text",),
    "loading": ("errata", "load", "validate"),
    "ontology": ("Ontology",),
    "positions": ("node_positions",),
    "snomed": ("review_release",),
}
_MODULES = ("listings", "owl", "perturb", "reports")
"""Public as a whole."""
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "CPSC_LABELS",
    "NO_DIAGNOSIS",
    "Branch",
    "Candidate",
    "CodeTable",
    "CodedRecords",
    "Concept",
    "ConceptGraph",
    "Corpus",
    "Coverage",
    "Decision",
    "Diagnoses",
    "Difference",
    "Draft",
    "DraftConcept",
    "DraftRelation",
    "EcgError",
    "Erratum",
    "Explanation",
    "Field",
    "Finding",
    "Header",
    "Hit",
    "InputError",
    "Kind",
    "Match",
    "Name",
    "NewCode",
    "Ontology",
    "OutputError",
    "Regime",
    "Relation",
    "Route",
    "RoutingRow",
    "Severity",
    "SourceError",
    "Status",
    "Tier",
    "UnknownConceptError",
    "UsageError",
    "branches",
    "built_files",
    "candidate_rows",
    "compare",
    "corpus_of",
    "coverage_of",
    "decision_counts",
    "diagnoses",
    "difference_text",
    "draft_from_networkx",
    "draw_distances",
    "draw_graph",
    "errata",
    "explain_codes",
    "explanation_text",
    "export",
    "family_colours",
    "find_concept",
    "header_comments",
    "header_lines",
    "label_in",
    "language_notes",
    "languages_of",
    "listings",
    "load",
    "match_label",
    "node_positions",
    "owl",
    "perturb",
    "read_code_table",
    "read_corpus",
    "read_decisions",
    "read_new_codes",
    "refuse_address",
    "refuse_others",
    "refuse_pipe",
    "replacing",
    "reports",
    "review_release",
    "review_rows",
    "revised_files",
    "search_concepts",
    "stale_files",
    "suggestions",
    "validate",
    "write_files",
    "write_page",
    "write_review",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("ecg-ontology")
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value  # asked for once
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
