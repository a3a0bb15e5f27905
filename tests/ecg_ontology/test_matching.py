"""Labels as hospitals write them: what is proposed, what is flagged, and what is never proposed."""

import time
from pathlib import Path

import networkx
import pytest
from tests.ecg_ontology.changes import with_concept

from ecg_base import InputError
from ecg_ontology import Ontology
from ecg_ontology.curation.label_index import words_of
from ecg_ontology.curation.matching import NewCode, candidate_rows, match_label, read_new_codes
from ecg_ontology.statements.reading import read_text
from ecg_ontology.views.languages import label_in

ONE_FINDING = {
    "LBBB": ("LBBB", "complete left bundle-branch block", "Kompletter Linksschenkelblock"),
    "LAE": ("LAE",),
    "AF": (
        *("AF", "new onset AF", "afib with rapid ventricular response"),
        *("persistent atrial fibrilation", "Vorhofflimmern", "paroxysmales Vorhofflimmern"),
        *("fibrilación auricular paroxística", "阵发性心房颤动"),
    ),
    "AFL": ("Typical atrial flutter",),
    "SVT": ("Runs of SVT",),
    "VT": ("non-sustained ventricular tachycardia",),
    "PVC": (
        *("frequent PVCs", "Occasional premature ventricular complexes", "ventrikuläre Extrasystolen"),
        *("extrasístoles ventriculares frecuentes", "频发室性早搏"),
    ),
    "PAC": ("premature atrial complexes",),
    "SBrad": ("marked sinus bradycardia", "bradicardia sinusal leve"),
    "STach": ("sinus tach",),
    "IRBBB": ("Incomplete right bundle branch block pattern",),
    "LAFB": ("Left anterior hemiblock",),
    "1AVB": ("1st degree A-V block", "AV-Block 1. Grades"),
    "2AVB": ("AV block, second degree",),
    "3AVB": ("third degree atrioventricular block", "III度房室传导阻滞"),
    "InfMI": ("Old inferior myocardial infarction",),
    "AntMI": ("Anterior infarct", "anterior wall infarction"),
    "LVH": ("LVH by voltage", "左心室肥厚伴劳损"),
    "LongQT": ("prolonged QT",),
    "NSSTC": ("nonspecific ST-T wave changes",),
    "TWI": ("inverted T waves in V4-V6",),
    "EarlyR": ("early repolarization",),
    "Paced": ("ventricular paced rhythm",),
    "WPW": ("Wolff Parkinson White",),
    "LowV": ("low voltage QRS",),
    "RBBB": ("bloqueo completo de rama derecha", "完全性右束支传导阻滞"),
    "STD": ("descenso del segmento ST",),
}
"""By concept, the labels that mean it and nothing else."""
DENIED = (
    "no atrial fibrillation",
    "LBBB absent",
    "without ST elevation",
    "AV block ruled out",
    "kein Vorhofflimmern",
    "Ausschluss Vorderwandinfarkt",
    "sin bloqueo de rama izquierda",
    "未见心房颤动",
)
SEVERAL = {
    "AF with LBBB": {"AF", "LBBB"},
    "Vorhofflimmern und Rechtsschenkelblock": {"AF", "RBBB"},
    "窦性心动过速伴左前分支阻滞": {"STach", "LAFB"},
}


def test_nine_of_ten_findings_are_right_at_the_first_rank(onto):
    labels = {label: abbr for abbr, labels in ONE_FINDING.items() for label in labels}
    first = {label: next(iter(match_label(onto, label)), None) for label in labels}
    named = {label: match for label, match in first.items() if match and match.concept}
    wrong = labels.items() - {label: match.concept.abbr for label, match in named.items()}.items()
    assert len(wrong) <= len(labels) // 10, wrong
    assert not any(match.note for match in named.values())


@pytest.mark.parametrize("label", DENIED)
def test_what_a_label_denies_is_flagged_and_has_no_predicate(onto, label):
    matches = match_label(onto, label)
    assert matches
    assert {(each.note.partition(":")[0], each.predicate) for each in matches} == {("denied", "")}
    assert all(each.mention.denied for each in matches)


def test_a_denial_is_flagged_where_likeness_alone_finds_the_concept():
    graph = networkx.DiGraph([("leaf", "family")])
    networkx.set_node_attributes(graph, {"leaf": "smoke", "family": "weather"}, "label")
    lung = Ontology.from_networkx(graph, "https://example.org/x")
    [match] = match_label(lung, "no smoke")
    assert (match.concept.abbr, match.predicate, match.mention.denied) == ("leaf", "", True)


@pytest.mark.parametrize("label", ["No atrioventricular conduction", "sinus rhythm without abnormality"])
def test_a_name_that_holds_a_no_denies_nothing(onto, label):
    assert match_label(onto, label)[0].note == ""


@pytest.mark.parametrize("label", SEVERAL)
def test_two_findings_of_one_label_are_both_first_and_flagged(onto, label):
    matches = match_label(onto, label)[:2]
    assert {each.concept.abbr for each in matches} == SEVERAL[label]
    assert all(each.note.startswith("names several findings") for each in matches)


def test_what_no_concept_carries_says_so(onto):
    rows = candidate_rows(onto, [NewCode(code="x:1", label="left axis deviation")], "base")
    assert (rows[0]["node"], rows[0]["note"][:21]) == ("", "the label of 39732003")
    assert match_label(onto, "fracture of the femur") == ()


def test_a_code_is_never_exactly_a_family(onto):
    for label in ("ventricular fibrillation", "Rhythm", "Ischemic", "bundle branch block"):
        for each in match_label(onto, label):
            assert not each.concept or not each.concept.root or each.predicate == "skos:broadMatch", label


def test_a_retired_concept_is_marked_and_not_proposed(onto):
    draft = with_concept(onto.draft, "AFL", deprecated=True)
    other = Ontology(draft.model_copy(update={"mappings": ()}))
    assert label_in(other.node("AFL")).text == "Atrial flutter (retired)"
    named = [each.concept for each in match_label(other, "atrial flutter") if each.concept]
    assert "AFL" not in {concept.abbr for concept in named}


def test_a_code_of_two_labels_is_refused(onto, tmp_path):
    path = Path(tmp_path) / "codes.csv"
    path.write_text("code,label\nicd10:I48,AF\nICD10:I48,AFL\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"icd10:I48 must have one label, got 'AFL', and 'AF' in .*:2"):
        read_new_codes(path, onto)


def test_a_thousand_labels_take_seconds(onto):
    began = time.process_time()
    for number in range(1000):
        match_label(onto, f"patient {number} with atrial fluter and a left bundle branch block")
    assert time.process_time() - began < 20  # 1 to 2 on an idle machine; 23 when texts were compared in turn


def test_chinese_has_a_word_for_each_two_signs_that_follow_each_other():
    assert words_of("心房颤动") == {"心房", "房颤", "颤动"}
    assert words_of("心") == {"心"}


def test_a_label_can_be_compared_without_the_rows_of_its_own_code(curated):
    """Else every label would agree with wherever its code was sent."""
    label = curated.route("233917008").label
    assert match_label(curated, label)[0].score == 1
    assert match_label(curated, label, without="233917008")[0].score < 1


@pytest.mark.parametrize(
    ("label", "abbr"),
    [("atrial flu\u200btter", "AFL"), ("atrial \ufb02utter", "AFL"), ("\uff21trial fibrillation", "AF")],
    ids=["no width", "ligature", "full width"],
)
def test_a_label_is_read_whatever_forms_its_letters_have(onto, label, abbr):
    assert match_label(onto, label)[0].concept.abbr == abbr
    [mention] = read_text(onto, f"Sinus rhythm, no {label}")[1:]
    assert (mention.concept.abbr, mention.denied) == (abbr, True)


def test_of_a_text_without_end_the_beginning_is_read(onto):
    report = "atrial fibrillation. " + "nothing else. " * 100_000 + "LBBB"
    assert [mention.concept.abbr for mention in read_text(onto, report)] == ["AF"]
