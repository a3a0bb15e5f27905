"""What a reviewer decides in a sheet arrives in the routing tables, signed; nothing else changes."""

import csv

import networkx
import openpyxl
import pytest
from tests.ecg_ontology.changes import edit

import ecg_ontology
from ecg_base import EcgError
from ecg_ontology.codes.corpus_codes import CorpusCodes
from ecg_ontology.curation.matching import candidate_rows, match_label, read_new_codes
from ecg_ontology.curation.review import review_rows, write_review
from ecg_ontology.curation.revise import apply_decisions, read_decisions
from ecg_ontology.curation.routing_file import Decision
from ecg_ontology.formats.sources import read_source
from ecg_ontology.graph.concepts import Regime

SIGNED = {"reviewer": "A. Reviewer", "date": "2026-01-31"}
AF = ("base", "164889003", "AF")


@pytest.fixture
def apply(small):
    """Fill in the review sheet of the sources, apply it, and return the ontology that results."""

    def run(decisions, ending=".tsv"):
        sheet = small.parent / f"review{ending}"
        rows = review_rows(read_source(small))
        for key, cells in decisions.items():
            row_at(rows, key).update({**SIGNED, **cells})
        write_review(sheet, rows)
        apply_decisions(small, sheet)
        return ecg_ontology.load(small)

    return run


def row_at(rows, key):
    [row] = [row for row in rows if (row["table"], row["code"], row["node"]) == key]
    return row


def rows_of(onto, code):
    return [row for row in onto.draft.mappings if (row.table, row.code) == ("base", code)]


def texts(small):
    return {path.name: path.read_text(encoding="utf-8") for path in small.glob("*.tsv")}


def test_the_sheet_has_every_mapping_of_every_table_with_its_counts(onto):
    rows = review_rows(onto.draft, CorpusCodes(name="", counts={"164889003": 7}))
    assert len(rows) == len(onto.draft.mappings)
    af = row_at(rows, AF)
    assert (af["predicate"], af["records"], af["decision"]) == ("skos:exactMatch", "7", "")
    assert {row["table"] for row in rows} == {"base", "curated", "disorders", "paper", "scp"}
    [unrouted] = [row for row in rows if row["code"] == "39732003"]
    assert unrouted["node"] == unrouted["predicate"] == ""


@pytest.mark.parametrize("ending", [".tsv", ".csv", ".xlsx"])
def test_a_kept_row_is_signed_and_no_other_row_changes(apply, small, excerpt, ending):
    signed = apply({AF: {"decision": "keep"}}, ending)
    [row, _] = rows_of(signed, "164889003")
    assert (row.author, row.date) == ("A. Reviewer", "2026-01-31")
    tables = zip(texts(excerpt).values(), texts(small).values(), strict=True)
    lines = [line for pair in tables for line in zip(*(text.splitlines() for text in pair), strict=True)]
    assert len([a for a, b in lines if a.rstrip("\t") != b.rstrip("\t")]) == 1
    before = ecg_ontology.load(excerpt)
    assert signed.routes(before.codes) == before.routes(before.codes)


def test_a_sheet_whose_every_row_is_kept_is_applied_and_what_the_paper_prints_stays(apply, small):
    """Nobody decides on the paper's rows; a reviewer needn't look for them in the sheet."""
    rows = review_rows(read_source(small))
    before = texts(small)["routing.paper.sssom.tsv"]
    assert any(row["table"] == "paper" for row in rows)
    signed = apply({(row["table"], row["code"], row["node"]): {"decision": "keep"} for row in rows})
    assert texts(small)["routing.paper.sssom.tsv"] == before
    assert {row.author for row in signed.draft.mappings if row.table != "paper"} == {"A. Reviewer"}


def test_a_changed_predicate_and_comment_arrive(apply):
    changed = apply({AF: {"decision": "change", "predicate": "skos:closeMatch", "comment": "as seen in II"}})
    [row, _] = rows_of(changed, "164889003")
    assert (row.predicate, row.reason, row.author) == ("skos:closeMatch", "as seen in II", "A. Reviewer")


def test_a_removed_leaf_leaves_its_root_as_a_generic_code(apply):
    changed = apply({("base", "713427006", "RBBB"): {"decision": "remove"}})
    [row] = rows_of(changed, "713427006")
    assert row.regime is Regime.generic
    assert changed.route("713427006").leaves == ()


def test_a_sheet_without_a_decision_changes_nothing(apply, small, excerpt):
    apply({})
    assert texts(small) == texts(excerpt)


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ({"decision": "keep", "reviewer": ""}, "must have a reviewer"),
        ({"decision": "keep", "date": ""}, "must have a date, got an empty cell"),
        ({"decision": "keep", "date": "31.01.2026"}, "must have a date, got 31.01.2026"),
        ({"decision": "yes"}, "unknown decision 'yes'"),
        ({"decision": "", "predicate": "skos:closeMatch"}, "was edited, but the decision is empty"),
        ({"decision": "keep", "comment": "new"}, "was edited, but the decision is keep"),
        ({"decision": "change", "comment": "two\nlines"}, "line break"),
        ({"decision": "add"}, "is already routed to AF"),
        ({"decision": "remove", "node": "AFL"}, "the table base has no row of 164889003 with this node"),
        (
            {"decision": "add", "node": "AFL", "label": "sinus rhythm", "state": ""},
            "must have the label 'atrial fibrillation' of the table base",
        ),
        ({"decision": "add", "node": "Heart", "state": ""}, "no concept has the abbreviation 'Heart'"),
        (
            {"decision": "add", "table": "../x", "node": "AFL", "state": ""},
            "the name of a table must have only letters",
        ),
    ],
)
def test_a_bad_decision_is_refused_with_its_row_and_nothing_is_written(apply, small, excerpt, cells, says):
    with pytest.raises(EcgError, match=says) as caught:
        apply({AF: cells})
    assert str(caught.value).startswith(str(small.parent)) or "routing" in str(caught.value)
    assert texts(small) == texts(excerpt)


def test_decisions_that_leave_the_ontology_unsound_are_refused_as_a_whole(apply, small, excerpt):
    official = ("base", "39732003", "")
    with pytest.raises(EcgError, match=r"nothing was written: .*39732003 .* has no row.*CCG-E306"):
        apply({AF: {"decision": "keep"}, official: {"decision": "remove"}})
    assert texts(small) == texts(excerpt)


def test_an_error_that_was_there_before_does_not_stop_a_review(small):
    edit(small / "cardiac.ttl", ('    skos:notation "AFL" ;\n', ""))
    files, _ = apply_decisions(small, [decide("icd10:I48.0", "AF")])
    assert list(files) == [small / "routing.sssom.tsv"]


def decide(code, node, **cells):
    cells = {"decision": "add", "table": "base", "label": "a new code", **SIGNED, **cells}
    return Decision(code=code, node=node, **cells)


def test_a_new_code_on_a_leaf_brings_its_root_and_its_regime(small):
    apply_decisions(small, [decide("icd10:I48.0", "AF")])
    onto = ecg_ontology.load(small)
    assert [onto.nodes[i].abbr for i in onto.route("icd10:I48.0").nodes] == ["AF", "Rhythm"]
    leaf, root = rows_of(onto, "icd10:I48.0")
    assert leaf.regime is root.regime is Regime.single
    assert leaf.author == root.author == "A. Reviewer"
    assert {finding.id for finding in ecg_ontology.validate(small, "curated")} == {"CCG-E206"}


def test_a_second_leaf_makes_the_code_a_localised_one_with_leaves_first(small):
    apply_decisions(small, [decide("icd10:X1", "AntMI"), decide("icd10:X1", "AMI")])
    onto = ecg_ontology.load(small)
    assert [onto.nodes[i].abbr for i in onto.route("icd10:X1").nodes] == ["AntMI", "AMI", "Ischemic"]
    assert {row.regime for row in rows_of(onto, "icd10:X1")} == {Regime.localised}


def test_an_unrouted_code_needs_its_reason(small):
    with pytest.raises(EcgError, match="CCG-E307"):
        apply_decisions(small, [decide("icd10:X1", "")])
    apply_decisions(small, [decide("icd10:X1", "", comment="no ECG finding")])
    assert ecg_ontology.load(small).route("icd10:X1").status == "unrouted"


def test_a_new_vocabulary_begins_a_table_of_its_own(small):
    files, _ = apply_decisions(small, [decide("icd10:I48.0", "AF", table="icd10")])
    assert [path.name for path in files] == ["routing.icd10.sssom.tsv"]
    assert ecg_ontology.load(small).route("icd10:I48.0").leaves == (5,)


def test_a_sheet_saved_by_a_spreadsheet_program_reads_the_same(draft, small):
    rows = review_rows(draft)
    row = row_at(rows, AF)
    row |= {"decision": "Keep ", **SIGNED}
    sheet = small.parent / "saved.csv"
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:  # byte order mark, semicolons, CRLF
        writer = csv.DictWriter(file, list(row), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    [decision] = read_decisions(sheet, draft)
    assert (decision.decision, decision.code, decision.date) == ("keep", "164889003", "2026-01-31")
    book = openpyxl.Workbook()
    book.active.append(list(row))
    book.active.append([int(text) if text == "164889003" else text for text in row.values()])
    book.save(small.parent / "numbers.xlsx")
    assert read_decisions(small.parent / "numbers.xlsx", draft)[0].code == "164889003"


NO_SHEETS = [b"", b"PK\x03\x04 no workbook", b"\xff\xfe\x00", b'"open', b"a\tb\n1\t2\n"]


@pytest.mark.parametrize("content", NO_SHEETS)
@pytest.mark.parametrize("ending", [".tsv", ".csv", ".xlsx", ".ods"])
def test_a_file_that_is_no_review_sheet_is_refused_in_one_line(draft, tmp_path, content, ending):
    path = tmp_path / f"bad{ending}"
    path.write_bytes(content)
    with pytest.raises(EcgError) as caught:
        read_decisions(path, draft)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_sheet_that_may_hold_decisions_is_never_replaced(onto, tmp_path):
    sheet = write_review(tmp_path / "r.tsv", review_rows(onto.draft))
    before = sheet.read_bytes()
    with pytest.raises(EcgError, match="already exists"):
        write_review(sheet, [])
    assert sheet.read_bytes() == before


def test_candidates_are_found_by_their_words_never_decided_and_once_accepted_applied(onto, small):
    listed = small.parent / "new.csv"
    listed.write_text(
        "code,label\nicd10:I48.0,Paroxysmal atrial fibrillation\n"
        "icd10:I44.7,left bundle-branch block unspecified\n"
        "icd10:I42,cardiomyopathy\n164889003,known already\n",
        encoding="utf-8",
    )
    rows = candidate_rows(onto, read_new_codes(listed, onto), "base")
    first = {row["code"]: row["node"] for row in reversed(rows)}
    assert first == {"icd10:I48.0": "AF", "icd10:I44.7": "LBBB", "icd10:I42": ""}
    assert {row["decision"] for row in rows} == {""}
    rows[0] |= {"decision": "add", **SIGNED}
    apply_decisions(small, write_review(small.parent / "c.xlsx", rows))
    assert ecg_ontology.load(small).route("icd10:I48.0").leaves == (5,)


def test_of_concepts_that_resemble_a_label_alike_leaves_stand_before_families():
    graph = networkx.DiGraph([("leaf", "family")])
    networkx.set_node_attributes(graph, "smoke", "label")
    onto = ecg_ontology.Ontology.from_networkx(graph, "https://example.org/x")
    assert onto.node("family").index < onto.node("leaf").index
    matches = match_label(onto, "smoke")
    assert [match.concept.abbr for match in matches] == ["leaf", "family"]
