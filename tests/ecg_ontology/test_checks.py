"""The findings catalogue: every rule catches its fault, and findings reach other tools."""

import re
from pathlib import Path

import pytest
from tests.ecg_ontology.changes import with_concept, with_rows

import ecg_ontology
from ecg_base import UsageError
from ecg_ontology import Finding, Severity
from ecg_ontology.checks import CHAPTERS, RULES, findings
from ecg_ontology.formats.sources import read_source
from ecg_ontology.graph.concepts import Regime
from ecg_ontology.graph.drafts import Draft, DraftConcept, DraftRelation, Misstatement, RoutingRow
from ecg_ontology.validation import reports


@pytest.fixture(scope="module")
def sound(sources) -> Draft:
    return read_source(sources)


def test_every_shape_names_a_rule_of_the_catalogue(sources):
    shapes = (sources / "shapes.ttl").read_text(encoding="utf-8")
    assert set(re.findall(r"CCG-[EWI]\d{3}", shapes)) <= set(RULES)


def test_rules_have_unique_ids_that_tell_severity_and_chapter():
    for number, chapter in enumerate(CHAPTERS):
        for rule in chapter.rules:
            assert re.fullmatch(rf"CCG-[EWI]{number}\d\d", rule.id)
            assert RULES[rule.id] is rule
    assert len(RULES) == sum(len(chapter.rules) for chapter in CHAPTERS)


CCG = "https://w3id.org/mar-ecg/cardiac#"


def with_relation(draft: Draft, kind: str, subject: str, end: str) -> Draft:
    relation = DraftRelation(kind=kind, subject=CCG + subject, object=CCG + end)
    return with_field(draft, relations=(*draft.relations, relation))


def with_field(draft: Draft, **changes) -> Draft:
    return draft.model_copy(update=changes)


def without(draft: Draft, kind: str, *ends: str) -> Draft:
    names = {CCG + end for end in ends}
    relations = tuple(r for r in draft.relations if not (r.kind == kind and {r.subject, r.object} <= names))
    return with_field(draft, relations=relations)


def ROW(**changes) -> RoutingRow:
    row = {"code": "164889003", "label": "atrial fibrillation", "predicate": "skos:exactMatch"}
    return RoutingRow(**{**row, "node": CCG + "AF", "regime": Regime.single, **changes})


OTHER_FAULTS = {
    "CCG-E003": lambda d: with_concept(d, "AF", label=""),
    "CCG-E004": lambda d: with_concept(d, "AFL", abbr="AF"),
    "CCG-E005": lambda d: with_relation(d, "family", "AF", "Conduction"),
    "CCG-E006": lambda d: with_relation(d, "sibling", "AF", "Rhythm"),
    "CCG-E010": lambda d: with_relation(d, "subtypeOf", "AMI", "AntMI"),
    "CCG-E011": lambda d: without(d, "family", "AF", "AFL", "Rhythm"),
    "CCG-E015": lambda d: with_field(d, misstatements=(Misstatement(subject=CCG + "AF", problem="two"),)),
    "CCG-W013": lambda d: without(d, "ring", "Normal", "Rhythm"),
    "CCG-W014": lambda d: with_relation(d, "subtypeOf", "AMI", "AntMI"),
    "CCG-W317": lambda d: with_rows(d, ROW(label="", predicate="skos:narrowMatch")),
    "CCG-E102": lambda d: with_concept(d, "AF", variants=("Long qt", "b", "c")),
    "CCG-E313": lambda d: with_concept(d, "AF", deprecated=True),
    "CCG-E202": lambda d: with_concept(d, "AF", iri=CCG + "Other"),
    "CCG-W204": lambda d: with_field(d, lock=None, mappings=()),
    "CCG-W315": lambda d: with_field(d, unread=("scp.sssom.tsv",)),
    "CCG-E304": lambda d: with_rows(d, ROW(node=None, regime=Regime.unrouted, reason="?")),
    "CCG-E306": lambda d: with_field(d, official={**d.official, "251238007": "low voltage"}),
    "CCG-E307": lambda d: with_rows(d, ROW(code="251238007", node=None, regime=Regime.unrouted)),
}
BLANKS = {
    "CCG-E003": lambda d: with_concept(d, "AF", label=" \t"),
    "CCG-E101": lambda d: with_concept(d, "AF", variants=("a", "b", " ")),
    "CCG-E307": lambda d: with_rows(d, ROW(code="251238007", node=None, regime=Regime.unrouted, reason=" ")),
}


@pytest.mark.parametrize(("rule", "fault"), [*OTHER_FAULTS.items(), *BLANKS.items()])
def test_every_other_rule_catches_a_fault_too_and_a_blank_text_is_none(sound, rule, fault):
    assert rule in {finding.id for finding in findings(fault(sound))}


def test_no_rule_is_without_a_fault_that_it_catches():
    others = ("faults", "mappings", "lock", "teaching", "build", "look_alikes")
    text = "".join(Path(__file__).with_name(f"test_{name}.py").read_text("utf-8") for name in others)
    seeded = set(re.findall(r"CCG-[EWI]\d{3}", text))
    assert set(RULES) <= seeded | set(OTHER_FAULTS) | {"CCG-W310"}


@pytest.mark.parametrize(
    ("rule", "fault", "subject", "message"),
    [
        (
            "CCG-E002",
            lambda d: with_concept(d, "Normal", index=40),
            "index 0",
            "no concept has index 0, but",
        ),
        (
            "CCG-E010",
            OTHER_FAULTS["CCG-E010"],
            "AntMI",
            "subtypeOf must not form a cycle, got AntMI → AMI → AntMI",
        ),
        ("CCG-E011", OTHER_FAULTS["CCG-E011"], "AF", "no path leads from Normal to AF, AFL"),
    ],
)
def test_a_fault_of_the_graph_s_shape_names_the_concepts(sound, rule, fault, subject, message):
    [finding] = [f for f in findings(fault(sound)) if f.id == rule]
    assert finding.subject == subject
    assert finding.message.startswith(message)


@pytest.mark.parametrize("kind", ["subtypeOf", "manifestationOf", "sibling"])
def test_an_edge_of_any_kind_between_leaves_stays_within_a_family(sound, kind):
    [finding] = [f for f in findings(with_relation(sound, kind, "LowV", "AF")) if f.id == "CCG-E012"]
    assert finding.message == f"LowV {kind} AF joins the families Structural and Rhythm"


def test_an_unknown_profile_is_no_clean_ontology():
    with pytest.raises(UsageError, match="'bogus'"):
        ecg_ontology.validate(profile="bogus")


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([ROW(node=None, regime=Regime.unrouted, reason="?")], "has routed and unrouted rows"),
        ([ROW()], "has two rows with the same node"),
        ([ROW(node=CCG + "SVT", label="something else")], "has two labels"),
        ([ROW(node=CCG + "SVT")], "must have the regime 'localised lesion'"),
    ],
)
def test_rows_that_contradict_each_other_are_told_apart(sound, rows, problem):
    [finding] = [f for f in findings(with_rows(sound, *rows)) if f.id == "CCG-E304"]
    assert problem in finding.message


def renumbered(draft: Draft) -> Draft:
    """AF and AFL have changed places."""
    return with_concept(with_concept(draft, "AF", index=6), "AFL", index=5)


def appended(draft: Draft) -> Draft:
    names = dict.fromkeys(("abbr", "label"), "New")
    leaf = DraftConcept(iri=CCG + "New", index=40, tier="Leaf", variants=("x", "y", "z"), **names)
    return with_relation(with_field(draft, concepts=(*draft.concepts, leaf)), "family", "New", "Rhythm")


@pytest.mark.parametrize(
    ("change", "version", "caught"),
    [
        (renumbered, "1.2.0", {"CCG-E202", "CCG-E203"}),
        (renumbered, "1.3.0", {"CCG-E202"}),
        (renumbered, "2.0.0", set()),
        (appended, "1.2.0", {"CCG-E203"}),
        (appended, "1.2.1", {"CCG-E203"}),
        (appended, "1.3.0", set()),
    ],
)
def test_an_index_moves_with_a_major_version_and_a_leaf_is_appended_with_any(sound, change, version, caught):
    revised = with_field(change(sound), header=sound.header.model_copy(update={"version": version}))
    assert {f.id for f in findings(revised) if f.id.startswith("CCG-E2")} == caught


def test_an_unknown_rule_cannot_be_disabled():
    with pytest.raises(UsageError, match="CCG-E999"):
        reports.known_rules(["CCG-E999"])


def test_a_copy_of_a_draft_looks_up_its_own_concepts(onto):
    first = onto.draft.concepts[0]
    assert onto.draft.abbreviation(first.iri) == first.abbr
    renamed = with_field(onto.draft, concepts=(first.model_copy(update={"abbr": "X"}),), relations=())
    assert (renamed.abbreviation(first.iri), renamed.families) == ("X", {})


PLACE = {"subject": "1,2:3", "where": "my,table.tsv:12"}
ODD = Finding(id="CCG-E305", severity="ERROR", message="50 % of\t“a\nb”", fix="Mend it", **PLACE)


def test_annotations_name_file_line_and_rule_on_one_line_each(tmp_path):
    folder = tmp_path / "ontology"
    folder.mkdir()
    assert reports.github([ODD], folder) == (
        f"::error file={folder.as_posix()}/my%2Ctable.tsv,line=12,title=CCG-E305 1%2C2%3A3"
        "::50 %25 of\t“a%0Ab”. Mend it."
    )


def test_a_finding_without_a_place_is_an_annotation_without_a_file():
    nowhere = ODD.model_copy(update={"where": "", "severity": Severity.warn, "subject": "AF"})
    assert reports.github([nowhere]).startswith("::warning title=CCG-E305 AF::")


def test_no_finding_is_no_annotation():
    assert reports.github([]) == ""
