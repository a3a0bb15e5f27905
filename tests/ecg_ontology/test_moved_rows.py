"""A sheet that curators edited, sorted, copied or shared teaches nothing that they didn't decide."""

import pytest

import ecg_ontology
from ecg_base import InputError
from ecg_ontology.base.errors import SourceError
from ecg_ontology.curation.matching import NewCode, candidate_rows
from ecg_ontology.curation.review import review_rows
from ecg_ontology.curation.revise import apply_decisions
from ecg_ontology.curation.sheets import write_sheet
from ecg_ontology.formats.sources import read_source

ADDED = {"decision": "add", "reviewer": "A. Reviewer", "date": "2026-01-31"}
REMOVED = ADDED | {"decision": "remove"}
AF = "164889003"


@pytest.fixture
def apply(small):
    """Apply rows as a sheet; return what a code reaches afterwards under a profile."""

    def run(rows, code, profile="paper"):
        sheet = small.parent / "sheet.tsv"
        write_sheet(sheet, tuple(rows[0]), rows)
        apply_decisions(small, sheet)
        onto = ecg_ontology.load(small, profile)
        return [onto.nodes[index].abbr for index in onto.route(code).nodes]

    return run


@pytest.fixture
def reviewed(small):
    """The rows of a code of the base table in a review sheet that is made now."""

    def rows(code):
        made = review_rows(read_source(small))
        return [row for row in made if (row["code"], row["table"]) == (code, "base")]

    return rows


def candidates(*labels):
    codes = [NewCode(code=f"local:{number}", label=label) for number, label in enumerate(labels)]
    return candidate_rows(ecg_ontology.load(profile="curated"), codes, "base", 1)


def test_a_row_that_is_added_at_another_concept_is_removed_at_its_own(apply, reviewed):
    row = next(row for row in reviewed(AF) if row["node"] == "AF")
    with pytest.raises(InputError, match=f"made for another code or label than {AF} .*`remove`"):
        apply([row | {"node": "AFL", "node_label": ""} | ADDED], AF)
    [candidate] = candidates("episode on ward 7")
    apply([candidate | {"node": "AF"} | ADDED], "local:0")
    row = next(row for row in reviewed("local:0") if row["node"] == "AF")
    moved = row | {"node": "AFL", "node_label": ""} | ADDED
    assert apply([row | REMOVED, moved], "local:0") == ["AFL", "Rhythm"]


def test_a_further_row_is_added_where_it_says_that_it_is_new(apply):
    [row] = candidates("paroxysmal AF and flutter")
    assert apply([row | {"node": "AF", "state": ""} | ADDED], "local:0") == ["AF", "Rhythm"]
    assert apply([row | {"node": "AFL", "state": ""} | ADDED], "local:0") == ["AF", "AFL", "Rhythm"]


@pytest.mark.parametrize("column", ["code", "label"])
def test_a_column_that_was_sorted_alone_is_noticed(apply, column):
    first, second = candidates("atrial fibrillation", "left bundle branch block")
    swapped = [first | {column: second[column]} | ADDED, second | {column: first[column]} | ADDED]
    with pytest.raises(
        InputError, match=r"sheet.tsv:2: the row was made for another code or label than local:\d"
    ):
        apply(swapped, "local:0")
    assert apply([first | ADDED, second], "local:0") == ["AF", "Rhythm"]


def test_a_code_that_another_curator_added_in_the_meantime_is_not_added_beside_it(apply):
    [row] = candidates("AF/AFL episode")
    assert apply([row | {"node": "AF"} | ADDED], "local:0") == ["AF", "Rhythm"]
    with pytest.raises(InputError, match="local:0 got a row after the sheet was made"):
        apply([row | {"node": "AFL"} | ADDED], "local:0")


@pytest.mark.parametrize("column", ["node", "code", "note"])
def test_a_sheet_with_two_columns_of_a_name_is_refused(small, column):
    [row] = candidates("atrial fibrillation")
    names, cells = [*row, column], [*(row | ADDED).values(), "LBBB"]
    sheet = small.parent / "sheet.tsv"
    sheet.write_text("\t".join(names) + "\n" + "\t".join(cells) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=f"has two columns {column}"):
        apply_decisions(small, sheet)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("55827005", "its label names only the family Structural"),
        ("67751000119106", "the curators route it to RAE, Structural"),
        ("368009", "the curators route it to nothing"),
    ],
)
def test_the_base_row_of_a_code_that_curators_decided_is_judged_as_well(apply, reviewed, code, says):
    """Under the profile paper it supervises."""
    rows = reviewed(code)
    changed = rows[0] | {"node": "LBBB", "node_label": "", "predicate": "skos:closeMatch"} | ADDED
    with pytest.raises(SourceError, match=rf"{code} .* routed to LBBB, Conduction, but {says}.*CCG-E501"):
        apply([*(row | REMOVED for row in rows), changed], code)


@pytest.mark.parametrize("written", ["1.64889003E8", "1,64889E+08", "164 889 003", "\u200b164889003"])
def test_a_code_that_a_spreadsheet_rewrote_is_no_other_code(apply, reviewed, written):
    row = next(row for row in reviewed(AF) if row["node"] == "AF")
    with pytest.raises(InputError):
        apply([row | {"code": written, "decision": "keep"}], AF)
