"""No row teaches another concept than its label says, unless somebody said why."""

import pytest
from tests.cli.calls import call
from tests.ecg_ontology.changes import edit

import ecg_ontology
from ecg_base import InputError
from ecg_ontology import Kind
from ecg_ontology.base.errors import SourceError
from ecg_ontology.curation.building import build
from ecg_ontology.curation.findings import CONTRADICTED, contradiction
from ecg_ontology.curation.revise import apply_decisions, decision_of

HARMFUL = [
    ("no atrial fibrillation", "AF", "denied"),
    ("incomplete left bundle branch block", "LBBB", "only the family Conduction"),
    ("paroxysmal supraventricular tachycardia", "VT", "SVT"),
    ("2nd degree AV block type II", "3AVB", "2AVB"),
    ("complete RBBB", "LBBB", "RBBB"),
    ("AFib w RVR", "AFL", "AF"),
    ("1st degree AVB", "2AVB", "1AVB"),
    ("完全性左束支传导阻滞", "RBBB", "LBBB"),
    ("history of atrial flutter", "AFL", "historical"),
    ("bundle branch block", "LBBB", "only the family Conduction"),
    ("left axis deviation", "LAFB", "without a concept"),
    ("non-ST-elevation MI", "STE", "AMI"),
    ("sinus rhythm without PVCs", "PVC", "NSR"),
]
"""Label, the leaf that it was sent to, and what the label says."""
CELLS = dict.fromkeys(("comment", "predicate"), "") | {
    **{"decision": "add", "table": "base", "code": "h:1", "reviewer": "A. Reviewer", "date": "2026-01-31"},
    "predicate": "skos:closeMatch",
}


@pytest.mark.parametrize(("label", "leaf", "said"), HARMFUL)
def test_a_label_that_says_something_else_contradicts_its_leaf(curated, label, leaf, said):
    family = curated.nodes[curated.families[curated.node(leaf).index]].abbr
    assert said in contradiction(curated, label, [leaf, family], "h:1")


@pytest.mark.parametrize(
    ("label", "leaf"),
    [
        *(("afib with rapid ventricular response", "AF"), ("old inferior infarct", "InfMI")),
        *(("IRBBB", "IRBBB"), ("Linksschenkelblock", "LBBB"), ("a text of another trade", "AF")),
    ],
)
def test_a_label_that_says_its_leaf_or_nothing_known_contradicts_nothing(curated, label, leaf):
    family = curated.nodes[curated.families[curated.node(leaf).index]].abbr
    assert contradiction(curated, label, [leaf, family], "h:1") == ""


def test_every_shipped_row_agrees_with_its_label_or_says_why_not(sources):
    assert ecg_ontology.validate(sources, "curated") == ()
    overridden = {row.code for row in ecg_ontology.load(sources).draft.mappings if row.override}
    assert overridden == {"55827005", "67751000119106", "32574007"}


@pytest.mark.parametrize(("graph", "least"), [(None, 110), ("extended", 190)])
def test_every_move_to_a_sibling_is_noticed_by_the_label_alone(graph, least):
    """Moves that no rule on names notices, such as 2nd degree AV block to 3AVB as closeMatch.

    Codes with an override are left out: their labels are known to say something else.
    """
    onto = ecg_ontology.load(graph, "curated")
    beside: dict[int, set[int]] = {}
    for edge in onto.relations:
        if edge.kind is Kind.sibling:
            beside.setdefault(edge.source, set()).add(edge.target)
            beside.setdefault(edge.target, set()).add(edge.source)
    overridden = {row.code for row in onto.rows if row.override}
    moves, missed = 0, []
    for route in onto.routes(code for code in onto.codes if code not in overridden):
        for sibling in beside.get(route.leaves[0], ()) if len(route.leaves) == 1 else ():
            names = [onto.nodes[sibling].abbr, onto.nodes[onto.families[sibling]].abbr]
            moves += 1
            if not contradiction(onto, route.label, names, route.code):
                missed.append((route.code, route.label, names[0]))
    assert moves >= least
    assert missed == []


def test_a_code_is_refused_and_an_override_stays_in_the_row(small):
    harmful = CELLS | {"label": "incomplete left bundle branch block", "node": "LBBB"}
    before = (small / "routing.sssom.tsv").read_text(encoding="utf-8")
    with pytest.raises(
        SourceError, match=r"nothing was written: .* only the family Conduction .* \[CCG-E501\]"
    ):
        apply_decisions(small, [decision_of(harmful, "")])
    assert (small / "routing.sssom.tsv").read_text(encoding="utf-8") == before
    why = "of a device that means the complete one"
    apply_decisions(small, [decision_of(harmful | {"override": why}, "")])
    stated = [row for row in ecg_ontology.load(small).rows if row.code == "h:1"]
    assert [row.override for row in stated] == [why, ""]
    assert CONTRADICTED not in {finding.id for finding in ecg_ontology.validate(small)}


def test_the_command_has_the_override(small):
    given = (
        "review",
        "--add",
        "h:1",
        "--label",
        "no atrial fibrillation",
        "--node",
        "AF",
        "--author",
        "A. Reviewer",
        "--ontology",
        str(small),
    )
    code, _, err = call(*given)
    assert code == 3
    assert "--override" in err
    assert call(*given, "--override", "the sheet's column is of absence")[0] == 0


def test_neither_validate_nor_a_new_version_takes_a_moved_code(small, tmp_path):
    """The lock says at once that it moved; a new version would make that its state."""
    label = "snomedct:195042002\t2nd degree av block\t"
    was = f"{label}skos:exactMatch\tcardiac:2AVB\tSecond-degree AV block"
    edit(small / "routing.sssom.tsv", (was, f"{label}skos:closeMatch\tcardiac:3AVB\tComplete AV block"))
    with pytest.raises(SourceError, match=r"its label names 2AVB .* \[CCG-E501\]"):
        build(small, tmp_path / "out.json", "1.3.0")
    assert CONTRADICTED in {finding.id for finding in ecg_ontology.validate(small)}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"reviewer": "   "}, "must not be blank"),
        ({"reviewer": "\u202eevil"}, "U\\+202E"),
        ({"reviewer": "A" * 10_000}, "got 10000"),
        ({"date": "2099-01-01"}, "is in the future"),
        ({"code": "x:ü"}, "must have only characters of a CURIE"),
    ],
)
def test_a_decision_of_nobody_or_of_tomorrow_is_refused(changes, problem):
    with pytest.raises(InputError, match=problem):
        decision_of(CELLS | {"label": "atrial fibrillation", "node": "AF"} | changes, "")
