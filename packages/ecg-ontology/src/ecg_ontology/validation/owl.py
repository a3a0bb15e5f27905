"""Convert an ontology to an owlready2 world, and check its consistency by a reasoner (extra ``owl``).

A world is owlready2's database of statements. Concepts are individuals of ``ccg:Root`` and ``ccg:Leaf``.
Relations are object properties. Symmetric relations hold in both directions.

Example:
    >>> import ecg_ontology
    >>> len(ecg_ontology.validation.owl.leaves(ecg_ontology.validation.owl.world(ecg_ontology.load())))
    35
"""

import io
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr
from typing import Any

from ecg_base import UsageError, optional
from ecg_ontology.checks.rule import Breach, Chapter
from ecg_ontology.formats.turtle import SCHEMA, concept_namespace
from ecg_ontology.graph.concepts import Finding
from ecg_ontology.ontology import Ontology


def world(onto: Ontology) -> Any:
    """Load an ontology into an `owlready2.World` in memory. Raises `UsageError` if owlready2 is missing."""
    owlready2 = _owlready2()
    from ecg_ontology.formats.rdf_writer import rdf_text  # imports rdflib, which the other rules don't need

    loaded = owlready2.World()
    # owlready2 can't read Turtle, so N-Triples are loaded from memory under the ontology's own IRI.
    triples = rdf_text(onto.draft, ".nt")
    loaded.get_ontology(concept_namespace(onto.header)).load(fileobj=io.BytesIO(triples.encode()))
    return loaded


def individual(heart: Any, onto: Ontology, name: int | str) -> Any:
    """Return a concept's individual in `heart`, the `world` of `onto`. Raises `UnknownConceptError`."""
    return heart[onto.node(name).iri]


def leaves(heart: Any) -> list[Any]:
    """Return the individuals of ``ccg:Leaf`` in `heart`, the `world` of an ontology."""
    return list(heart[f"{SCHEMA}Leaf"].instances())


REASONER: Chapter[Ontology] = Chapter("Reasoner")


@REASONER.rule(
    "CCG-E601",
    "The ontology has no contradiction",
    why="From a contradiction, a reasoner can conclude anything.",
    fix="Search for a concept with two tiers, or for a relation between wrong tiers",
)
def _contradiction(onto: Ontology) -> Iterator[Breach]:
    owlready2 = _owlready2()
    heart, log = world(onto), io.StringIO()
    try:
        with redirect_stderr(log):
            owlready2.sync_reasoner(heart, debug=2)
    except owlready2.OwlReadyInconsistentOntologyError:
        yield Breach(onto.header.title, "the classes or relations of a concept contradict each other")
        return
    if f"<{SCHEMA}Leaf>" not in log.getvalue():  # HermiT exits with 0 even if it can't open its file
        problem = "the reasoner can't read its file in this folder"
        remedy = "Set TMPDIR to a folder without blanks and accents in its name"
        raise UsageError(problem, where=tempfile.gettempdir(), remedy=remedy)
    for name in heart.inconsistent_classes():
        yield Breach(str(name), f"the class {name} can't have members")


def consistency(onto: Ontology) -> tuple[Finding, ...]:
    """Check an ontology with owlready2's reasoner (HermiT). Returns () if the ontology is consistent.

    Raises `UsageError` if owlready2 or Java is missing, or if the reasoner can't read its temporary folder.
    """
    if shutil.which("java") is None:
        remedy = "Install a Java runtime, or omit --engine reasoner"
        raise UsageError("the reasoner needs Java, which isn't installed", remedy=remedy)
    return tuple(REASONER.findings(onto))


def _owlready2() -> Any:
    return optional("owlready2", "the OWL view needs owlready2", 'pip install "ecg-ontology[owl]"')
