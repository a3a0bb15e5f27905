"""Findings as annotations: one finding, one line, whatever stands in it."""

from ecg_ontology import Finding, Severity
from ecg_ontology.reports import github

ODD = Finding(
    id="CCG-E305",
    severity=Severity.error,
    subject="1,2:3",
    where="my,table.tsv:12",
    message="50 % of\t“a\nb”",
    fix="Mend it",
)


def test_annotations_name_file_line_and_rule_on_one_line_each(tmp_path):
    folder = tmp_path / "ontology"
    folder.mkdir()
    assert github([ODD], folder) == (
        f"::error file={folder.as_posix()}/my%2Ctable.tsv,line=12,title=CCG-E305 1%2C2%3A3"
        "::50 %25 of\t“a%0Ab”. Mend it."
    )


def test_a_finding_without_a_place_is_an_annotation_without_a_file():
    nowhere = ODD.model_copy(update={"where": "", "severity": Severity.warn, "subject": "AF"})
    assert github([nowhere]).startswith("::warning title=CCG-E305 AF::")


def test_no_finding_is_no_annotation():
    assert github([]) == ""
