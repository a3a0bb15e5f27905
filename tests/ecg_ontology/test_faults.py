"""The thirteen seeded faults: each is caught by its rule, and SHACL agrees where it can speak."""

import re
from pathlib import Path

import pytest
import rdflib
from pyshacl import validate as shacl_validate
from tests.ecg_ontology.changes import WITHOUT_17_18, edit

import ecg_ontology
from ecg_ontology import Severity
from ecg_ontology.checks import findings
from ecg_ontology.formats.sources import read_source

GRAPH, TABLE = "cardiac.ttl", "routing.sssom.tsv"
OLD_INFARCTION = re.compile(r"(?s):OMI a .*? \.\n\n")
LBBB, AMI, AFL = ":LBBB a ccg:Leaf ;", "    ccg:subtypeOf :AMI ;", "ccg:sibling :AFL"
FAULTS = {
    "missing leaf": ("CCG-E002", GRAPH, (OLD_INFARCTION, "")),
    "duplicate index": ("CCG-E001", GRAPH, ("ccg:index 6 ;", "ccg:index 5 ;")),
    "cross-family subtype": ("CCG-E012", GRAPH, (AMI, f"{AMI}\n    ccg:subtypeOf :LBBB ;")),
    "dropped sibling": ("CCG-E203", GRAPH, *WITHOUT_17_18),
    "self-loop": ("CCG-E008", GRAPH, (AFL, f"ccg:sibling :AF ;\n    {AFL}")),
    "asymmetric ring": ("CCG-E009", GRAPH, ("    ccg:ring :Rhythm ;\n", "")),
    "dangling IRI": ("CCG-E007", GRAPH, ("manifestationOf :MyIsch", "manifestationOf :Ischaemia")),
    "fourth variant": ("CCG-E101", GRAPH, (LBBB, f'{LBBB}\n    ccg:textVariant "A fourth text"@en ;')),
    "unknown node in routing": ("CCG-E302", TABLE, ("cardiac:SBrad", "cardiac:Slow")),
    "wrong label": ("CCG-E305", TABLE, ("\tatrial flutter\t", "\tatrial fibrillation\t")),
    "bad check digit": ("CCG-E301", TABLE, ("snomedct:164890007", "snomedct:164890008")),
    "wrong family closure": ("CCG-E303", TABLE, ("cardiac:Rhythm\tRhythm", "cardiac:Conduction\tConduction")),
    "changed lock": ("CCG-E201", "enumeration.lock", ("node\t5\tLeaf\tAF\t", "node\t5\tLeaf\tAFib\t")),
}
"""By name the rule that catches it, a file, and what is replaced there."""
SHACL = {
    "missing leaf": {"CCG-E002", "CCG-E007"},
    "duplicate index": {"CCG-E001", "CCG-E002"},
    **{name: {FAULTS[name][0]} for name in ("cross-family subtype", "self-loop", "asymmetric ring")},
    **{name: {FAULTS[name][0]} for name in ("dangling IRI", "fourth variant")},
}
"""The rules by which SHACL catches those of the graph that it can express."""


@pytest.fixture(params=FAULTS)
def seeded(request, small) -> tuple[str, str]:
    """The name of a fault that is in the sources now, and its rule."""
    rule, file, *replacements = FAULTS[request.param]
    text = (small / file).read_text(encoding="utf-8")
    found = [(old.search(text)[0] if isinstance(old, re.Pattern) else old, new) for old, new in replacements]
    edit(small / file, *found)
    return request.param, rule


def test_a_seeded_fault_is_caught_by_its_rule(seeded, small):
    caught = [finding for finding in findings(read_source(small)) if finding.id == seeded[1]]
    assert caught
    assert all(f.severity is Severity.error and f.message and f.fix and f.subject for f in caught)


def test_a_finding_names_file_and_line_where_the_fault_stands(small):
    rule, file, replacement = FAULTS["bad check digit"]
    edit(small / file, replacement)
    finding = next(f for f in ecg_ontology.validate(small) if f.id == rule)
    file, line = finding.where.split(":")
    assert replacement[1] in (small / file).read_text(encoding="utf-8").splitlines()[int(line) - 1]


def shacl_ids(small: Path, sources: Path) -> set[str]:
    """The rule ids in the messages of SHACL's violations."""
    graph = rdflib.Graph().parse(small / GRAPH)
    shapes = rdflib.Graph().parse(sources / "shapes.ttl")
    _, report, _ = shacl_validate(graph, shacl_graph=shapes)
    return {str(message)[:8] for message in report.objects(None, rdflib.SH.resultMessage)}


def test_the_sound_graph_conforms_to_the_shapes(sources):
    assert shacl_ids(sources, sources) == set()


@pytest.mark.parametrize(
    "seeded", [name for name, (_, file, *_) in FAULTS.items() if file == GRAPH], indirect=True
)
def test_shacl_agrees_with_the_checks_on_every_fault_that_it_can_express(seeded, small, sources):
    shacl = SHACL.get(seeded[0], set())
    assert shacl_ids(small, sources) == shacl
    assert shacl <= {finding.id for finding in ecg_ontology.validate(small)} | {"CCG-E002"}
