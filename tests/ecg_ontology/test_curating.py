"""Nobody's work is lost: two curators, older sheets, edits, formulas, tables of another hand."""

import difflib
import itertools
import re
import subprocess
import sys

import openpyxl
import pytest

import ecg_ontology
from ecg_base import InputError, UsageError
from ecg_ontology.curation.building import write_sources
from ecg_ontology.curation.review import review_rows, write_review
from ecg_ontology.curation.revise import apply_decisions, decision_of, read_decisions
from ecg_ontology.curation.sheets import read_sheet, write_sheet
from ecg_ontology.formats.sources import read_source

SIGNED = {"reviewer": "A. Reviewer", "date": "2026-01-31"}
ADD = dict.fromkeys(("predicate", "comment"), "") | {
    **{"decision": "add", "table": "base", "code": "icd10:X1", "label": "a new code", "node": "AF"},
    **{"reviewer": "A. Reviewer", "date": "2026-01-31"},
}


@pytest.fixture(scope="module")
def draft(excerpt):
    """What is read from the excerpt."""
    return read_source(excerpt)


@pytest.fixture
def rows(draft):
    return review_rows(draft)


def added(**changes):
    return decision_of(ADD | changes, "")


def test_a_curator_needs_no_checkout(tmp_path):
    mine = write_sources(tmp_path / "mine")
    apply_decisions(mine, [added()])
    assert "icd10:X1" in ecg_ontology.load(mine).codes
    with pytest.raises(UsageError, match="which would be lost"):
        write_sources(mine)


@pytest.mark.slow
def test_two_curators_at_once_both_keep_their_code(small):
    """Each in a process of its own, as two terminals are."""
    script = (
        "import sys; from ecg_ontology.curation.revise import apply_decisions, decision_of;"
        f"cells = {ADD!r};"
        f"apply_decisions({str(small)!r}, [decision_of(cells | {{'code': sys.argv[1]}}, '')])"
    )
    codes = [f"icd10:X{number}" for number in range(3)]
    running = [subprocess.Popen([sys.executable, "-c", script, code]) for code in codes]
    assert [each.wait() for each in running] == [0, 0, 0]
    assert set(codes) <= set(ecg_ontology.load(small).codes)


def test_a_sheet_that_is_older_than_the_table_is_refused(small, rows, tmp_path):
    rows[2] |= {"decision": "change", "comment": "mine", **SIGNED}
    mine = write_review(tmp_path / "mine.tsv", rows)
    apply_decisions(small, [decision_of({**rows[2], "comment": "the colleague's"}, "")])
    with pytest.raises(InputError, match="426177001 to SBrad was changed after the sheet was made"):
        read_decisions(mine, read_source(small))


COLUMNS = ("node", "code", "justification", "label", "comment", "regime")
LOST = set(itertools.product(COLUMNS, ("", "keep", "change"))) - {("comment", "change")}


@pytest.mark.parametrize(("column", "decision"), sorted(LOST))
def test_an_edit_that_no_decision_takes_is_refused(draft, rows, tmp_path, column, decision):
    other = {"node": "AFL", "code": "164890007"}.get(column, "edited")
    rows[2] |= {column: other, "decision": decision, **SIGNED}
    with pytest.raises(InputError, match=r"was edited|has no row of|changed after"):
        read_decisions(write_review(tmp_path / "edited.tsv", rows), draft)


def test_one_row_is_decided_once(draft, rows, tmp_path):
    rows[2] |= {"decision": "keep", **SIGNED}
    twice = write_review(tmp_path / "twice.tsv", [*rows, {**rows[2], "decision": "remove"}])
    with pytest.raises(InputError, match=r"426177001 to SBrad has a second decision, the first is in .*:4"):
        read_decisions(twice, draft)


def test_a_formula_is_no_comment(draft, rows, tmp_path):
    path = write_review(tmp_path / "review.xlsx", rows)
    book = openpyxl.load_workbook(path)
    assert book.active.freeze_panes == "A2", "the heads stay in sight"
    assert book.active["B4"].value == "426177001", "a code is text"
    book.active["I4"] = '="was " & D4'
    book.save(path)
    with pytest.raises(InputError, match=r"review.xlsx:4 I: must be text, got a formula"):
        read_decisions(path, draft)


@pytest.mark.parametrize("ending", ["tsv", "csv", "xlsx"])
def test_what_looks_like_a_formula_comes_back_as_it_was(tmp_path, ending):
    texts = ["=HYPERLINK(1)", "+1", "-", "@a", "'quoted", "plain"]
    path = tmp_path / f"t.{ending}"
    write_sheet(path, ("a",), [{"a": text} for text in texts])
    assert [cells["a"] for _, cells in read_sheet(path, ("a",))] == texts
    if ending == "csv":
        assert "\n=HYPERLINK" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("letter", ["\u2028", "\x85", "\v", "\f"])
def test_a_text_sheet_with_an_unusual_line_break_is_read_row_by_row(tmp_path, letter):
    path = tmp_path / "t.tsv"
    write_sheet(path, ("a", "b"), [{"a": f"one{letter}line", "b": "x"}])
    assert [cells for _, cells in read_sheet(path, ("a",))] == [{"a": f"one{letter}line", "b": "x"}]


def test_a_comment_that_no_cell_can_hold_is_not_cut(rows, tmp_path):
    rows[2]["comment"] = "x" * 32_768
    with pytest.raises(UsageError, match="must have at most 32,767 letters, got 32,768 in comment"):
        write_review(tmp_path / "review.xlsx", rows)
    assert not (tmp_path / "review.xlsx").exists()


OTHER_HANDS = {
    "no regime's column": (r"(?m)^((?:[^\t#]*\t){7})[^\t]*\t", r"\1"),
    "no optional column": (r"(?m)^((?:[^\t#]*\t){7})[^\t]*\t([^\t]*)\t.*$", r"\1\2"),
    "an empty regime": (r"\tregime: [^\t]*", r"\t"),
    "SNOMEDCT:": (r"\nsnomedct:", r"\nSNOMEDCT:"),
    "bare digits": (r"\nsnomedct:", r"\n"),
    "IRIs": (r"\nsnomedct:", r"\nhttp://snomed.info/id/"),
    "IRIs of nodes": (r"\tcardiac:", r"\thttps://w3id.org/mar-ecg/cardiac#"),
}


NIGHTLY = {"an empty regime", "SNOMEDCT:", "IRIs"}


@pytest.mark.parametrize(
    "hand",
    [pytest.param(hand, marks=[pytest.mark.nightly] if hand in NIGHTLY else []) for hand in OTHER_HANDS],
)
def test_a_valid_table_of_another_hand_takes_every_decision(small, hand):
    before = ecg_ontology.load(small).codes
    table = small / "routing.sssom.tsv"
    rewritten = re.sub(*OTHER_HANDS[hand], table.read_text(encoding="utf-8"))
    assert ("\tother\t" in rewritten) == (hand not in {"no regime's column", "no optional column"})
    table.write_text(rewritten, encoding="utf-8")
    row = next(row for row in review_rows(read_source(small)) if row["code"] == "426177001")
    change = decision_of({**row, "decision": "change", "comment": "seen", **SIGNED}, "")
    apply_decisions(small, [change, added()])
    onto = ecg_ontology.load(small)
    assert set(onto.codes) == {*before, "icd10:X1"}
    assert "seen" in {row.reason for row in onto.rows if row.code == "426177001"}
    assert onto.route("426177001").leaves == (onto.node("SBrad").index,)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"label": "a\u2028b"}, "must have no tab or line break"),
        ({"code": "#evil:1"}, "'#evil:1' isn't a code"),
        ({"code": "164889030"}, "check digit"),
    ],
)
def test_a_decision_is_signed_dated_and_about_a_code(changes, problem):
    with pytest.raises(InputError, match=problem):
        added(**changes)


def test_one_added_code_changes_no_other_line(small):
    path = small / "routing.sssom.tsv"
    before = path.read_text(encoding="utf-8").split("\n")
    after = apply_decisions(small, [added()])[0][path].split("\n")
    changed = [line for line in difflib.ndiff(before, after) if line[0] in "+-"]
    declared = '+ #  icd10: "https://w3id.org/mar-ecg/icd10/"'
    assert [line.split("\t")[0] for line in changed] == [declared, *["+ icd10:X1"] * 2]  # leaf and family
