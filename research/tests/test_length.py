"""The report of the length experiment and the page of the encoders have the tables that the scores give."""

from pathlib import Path

from research.length import tables

ROOT = Path(__file__).parents[2]


def test_the_report_and_the_page_have_the_tables_that_the_scores_give():
    report = (ROOT / "research" / "length" / "report.md").read_text(encoding="utf-8")
    assert all("\n".join(table()) in report for table in tables.TABLES), "python -m research.length.tables"
    assert tables.classes() in report
    page = (ROOT / "docs" / "pretrained.md").read_text(encoding="utf-8")
    assert all("\n".join(table()) in page for table in (tables.gains, tables.by_task))
