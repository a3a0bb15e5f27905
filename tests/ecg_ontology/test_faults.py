"""The thirteen seeded faults: each is caught by its rule, quickly, and SHACL agrees where it can speak."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import rdflib
from pyshacl import validate as shacl_validate

import ecg_ontology
from ecg_ontology import Severity
from ecg_ontology.checks import findings
from ecg_ontology.sources import read_source


@dataclass(frozen=True)
class Fault:
    """How a fault is seeded, the rule that must catch it, and the rules by which SHACL catches it."""

    name: str
    seed: Callable[[Path], None]
    rule: str
    shacl: frozenset[str] = frozenset()


def by(*rules: str) -> frozenset[str]:
    return frozenset(rules)


def replace(file: str, old: str, new: str) -> Callable[[Path], None]:
    def seed(folder: Path) -> None:
        text = (folder / file).read_text(encoding="utf-8")
        assert old in text, (file, old)
        (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")

    return seed


def both(*seeds: Callable[[Path], None]) -> Callable[[Path], None]:
    def seed(folder: Path) -> None:
        for one in seeds:
            one(folder)

    return seed


def without_old_infarction(folder: Path) -> None:
    path = folder / "cardiac.ttl"
    text, count = re.subn(r"(?s)\n:OMI a .*? \.\n", "\n", path.read_text(encoding="utf-8"), count=1)
    assert count == 1
    path.write_text(text, encoding="utf-8")


GRAPH = "cardiac.ttl"
TABLE = "routing.sssom.tsv"

FAULTS = (
    Fault("missing leaf", without_old_infarction, "CCG-E002", by("CCG-E002", "CCG-E007")),
    Fault(
        "duplicate index",
        replace(GRAPH, "ccg:index 6 ;", "ccg:index 5 ;"),
        "CCG-E001",
        by("CCG-E001", "CCG-E002"),
    ),
    Fault(
        "cross-family subtype",
        replace(GRAPH, "    ccg:subtypeOf :AMI ;", "    ccg:subtypeOf :AMI ;\n    ccg:subtypeOf :LBBB ;"),
        "CCG-E012",
        by("CCG-E012"),
    ),
    Fault(
        "dropped sibling",
        both(
            replace(GRAPH, " ;\n    ccg:sibling :3AVB .", " ."),
            replace(GRAPH, " ;\n    ccg:sibling :2AVB .\n\n:LongQT", " .\n\n:LongQT"),
        ),
        "CCG-E203",
    ),
    Fault(
        "self-loop",
        replace(GRAPH, "ccg:sibling :AFL", "ccg:sibling :AF ;\n    ccg:sibling :AFL"),
        "CCG-E008",
        by("CCG-E008"),
    ),
    Fault("asymmetric ring", replace(GRAPH, "    ccg:ring :Rhythm ;\n", ""), "CCG-E009", by("CCG-E009")),
    Fault("unknown node in routing", replace(TABLE, "cardiac:SBrad", "cardiac:Slow"), "CCG-E302"),
    Fault("wrong label", replace(TABLE, "\tatrial flutter\t", "\tatrial fibrillation\t"), "CCG-E305"),
    Fault("bad check digit", replace(TABLE, "snomedct:164890007", "snomedct:164890008"), "CCG-E301"),
    Fault(
        "dangling IRI",
        replace(GRAPH, "ccg:manifestationOf :MyIsch", "ccg:manifestationOf :Ischaemia"),
        "CCG-E007",
        by("CCG-E007"),
    ),
    Fault(
        "wrong family closure",
        replace(TABLE, "broadMatch\tcardiac:Rhythm\tRhythm", "broadMatch\tcardiac:Conduction\tConduction"),
        "CCG-E303",
    ),
    Fault(
        "changed lock",
        replace("enumeration.lock", "node\t5\tLeaf\tAF\t", "node\t5\tLeaf\tAFib\t"),
        "CCG-E201",
    ),
    Fault(
        "fourth variant",
        replace(GRAPH, ":LBBB a ccg:Leaf ;", ':LBBB a ccg:Leaf ;\n    ccg:textVariant "A fourth text"@en ;'),
        "CCG-E101",
        by("CCG-E101"),
    ),
)


@pytest.fixture(params=FAULTS, ids=lambda fault: fault.name)
def seeded(request, folder) -> tuple[Fault, Path]:
    request.param.seed(folder)
    return request.param, folder


def test_a_seeded_fault_is_caught_by_its_rule_in_under_a_tenth_of_a_second(seeded):
    fault, folder = seeded
    draft = read_source(folder)
    start = time.process_time()
    found = findings(draft)
    assert time.process_time() - start < 0.1
    caught = [finding for finding in found if finding.id == fault.rule]
    assert caught
    assert all(f.severity is Severity.error and f.message and f.fix and f.subject for f in caught)


def test_a_finding_names_file_and_line_where_the_fault_stands(folder):
    fault = next(fault for fault in FAULTS if fault.name == "bad check digit")
    fault.seed(folder)
    finding = next(f for f in ecg_ontology.validate(folder) if f.id == fault.rule)
    file, line = finding.where.split(":")
    assert "snomedct:164890008" in (folder / file).read_text(encoding="utf-8").splitlines()[int(line) - 1]


def shacl_ids(folder: Path, sources: Path) -> set[str]:
    """The rule ids in the messages of SHACL's violations."""
    graph = rdflib.Graph().parse(folder / "cardiac.ttl")
    shapes = rdflib.Graph().parse(sources / "shapes.ttl")
    _, report, _ = shacl_validate(graph, shacl_graph=shapes)
    messages = report.objects(None, rdflib.SH.resultMessage)
    return {str(message)[:8] for message in messages}


def test_the_sound_graph_conforms_to_the_shapes(sources):
    assert shacl_ids(sources, sources) == set()


def test_shacl_agrees_with_the_checks_on_every_fault_that_it_can_express(seeded, sources):
    fault, folder = seeded
    assert shacl_ids(folder, sources) == fault.shacl
    assert fault.shacl <= {finding.id for finding in ecg_ontology.validate(folder)} | {"CCG-E002"}
