"""Statements of electrocardiographs: what the table says, how a file is reported, what codes they become."""

from pathlib import Path

import pytest

import ecg_ontology
from ecg_base import InputError
from ecg_ontology.codes.code_tables import CodeMapping
from ecg_ontology.statements.finding_patterns import chain_of
from ecg_ontology.statements.machines import (
    known_statements,
    read_statement,
    read_statements,
    statement_report,
)


@pytest.fixture(scope="module")
def extended():
    return ecg_ontology.load("extended", "curated")


def names(mentions):
    return {mention.concept.abbr: mention.certainty for mention in mentions if mention.concept}


def test_every_line_of_the_table_names_concepts_of_the_extended_graph(extended):
    abbreviations = {node.abbr for node in extended.nodes}
    for known in known_statements().values():
        for name, _ in known.says:
            assert set(chain_of(name)) & abbreviations or name.isdecimal(), (known.text, name)
    assert len(known_statements()) > 450


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Cannot rule out Inferior infarct, age undetermined", {"InfMI": "possible"}),
        ("ST ELEV, PROBABLE NORMAL EARLY REPOL PATTERN", {"STE": "certain", "EarlyR": "probable"}),
        ("Sinus rhythm with 1st degree A-V block.", {"NSR": "certain", "1AVB": "certain"}),
        ("Lateral infarct, old", {"LatMI": "certain", "OMI": "certain"}),
        ("Otherwise normal ECG", {}),
    ],
)
def test_a_line_says_what_its_row_says(extended, text, expected):
    assert names(read_statement(extended, text)) == expected


def test_a_finding_without_a_leaf_falls_to_its_family(onto):
    assert names(read_statement(onto, "Lateral infarct, old")) == {"Ischemic": "certain", "OMI": "certain"}


def test_what_a_line_denies_or_puts_into_the_past_isn_t_present(extended):
    (gone,) = read_statement(extended, "T wave inversion no longer evident in Anterior leads")
    assert gone.denied
    present = [
        m.finding
        for m in read_statement(extended, "Sinus rhythm has replaced Atrial fibrillation")
        if m.present
    ]
    assert present == ["NSR"]


def test_the_mapping_called_machine_gives_codes_of_what_is_certain_or_probable():
    mapping = CodeMapping.read("machine")
    assert mapping.of("Sinus rhythm with PVC(s)") == ("426783006", "427172004")
    assert mapping.of("Possible inferior infarct - age undetermined") == ()
    assert mapping.of("Probable left atrial enlargement") == ("67741000119109",)
    assert mapping.of("No atrial fibrillation") == ()
    assert len(mapping.about["sha256"]["mapping"]) == 64


def test_every_code_of_the_mapping_means_its_concept_alone(extended):
    mapping = CodeMapping.read("machine")
    for leaf, code in mapping._codes.items():
        nodes = extended.route(code).leaves or extended.route(code).nodes
        assert nodes == (leaf,)


def test_a_file_of_statements_is_reported_by_lines_and_records(onto, tmp_path):
    table = Path(tmp_path) / "machine_measurements.csv"
    table.write_text(
        "study_id,report_0,report_1\n1,Sinus rhythm,Any LVH\n2,Vorhofflimmern,\n3,Bananas,Abnormal ECG\n",
        encoding="utf-8",
    )
    report = statement_report(onto, read_statements(table))
    assert (report.lines, report.distinct, report.records, report.records_coded) == (5, 5, 3, 2)
    assert (report.in_table, report.by_rules, report.unread) == (2, 2, 1)
    lines = Path(tmp_path) / "lines.txt"
    lines.write_text("Sinus rhythm\n\nSinus rhythm\n", encoding="utf-8")
    assert statement_report(onto, read_statements(lines)).statements[0].lines == 2


def test_a_table_without_statements_is_refused(tmp_path):
    path = Path(tmp_path) / "codes.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match="has no column of statements"):
        list(read_statements(path))


def test_statements_in_a_workbook_are_read(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (("study_id", "report_0", "report_1"), (4, "Sinus rhythm", "LBBB"), (5, "AF", None)):
        book.active.append(row)
    book.save(tmp_path / "m.xlsx")
    assert list(read_statements(tmp_path / "m.xlsx")) == [("4", "Sinus rhythm"), ("4", "LBBB"), ("5", "AF")]
