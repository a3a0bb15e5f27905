"""`ecgonto review` and `match`: decisions of clinicians on their way into the routing tables."""

import csv

import pytest
from tests.cli.calls import call

import ecg_ontology
from ecg_ontology.curation.sheets import read_sheet, write_sheet


def test_a_reviewed_sheet_is_applied_and_the_next_step_named(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sheet = tmp_path / "review.tsv"
    assert call("review", "--out", sheet, "--ontology", folder)[0] == 0
    rows = [cells for _, cells in read_sheet(sheet, ())]
    rows[0] |= {"decision": "keep", "reviewer": "A. Reviewer", "date": "2026-01-31"}
    write_sheet(sheet, list(rows[0]), rows)
    code, out, err = call("review", "--apply", sheet, "--ontology", folder)
    assert (code, out.strip()) == (0, str(folder / "routing.sssom.tsv"))
    done, named = err.strip().split("; now run: ecgonto ")
    assert done.endswith("1 × keep")
    assert call(*named.split())[0] == 0, "the step that was named"
    assert "A. Reviewer\t2026-01-31" in (folder / "routing.sssom.tsv").read_text(encoding="utf-8")


def test_the_counts_of_a_corpus_stand_in_the_sheet(tmp_path):
    (tmp_path / "counts.csv").write_text("code,count\n164889003,2\n", encoding="utf-8")
    call("review", "--out", tmp_path / "r.csv", "--corpus", tmp_path / "counts.csv")
    with (tmp_path / "r.csv").open(encoding="utf-8", newline="") as file:
        counts = {row["code"]: row["records"] for row in csv.DictReader(file)}
    assert (counts["164889003"], counts["426783006"]) == ("2", "0")


def test_a_code_is_added_by_the_name_of_its_concept(folder):
    label = "paroxysmal atrial fibrillation"
    decided = ("--label", label, "--node", "atrial fibrillation", "--author", "A. B.")
    arguments = ("--add", "icd10:I48.0", *decided, "--ontology", folder)
    assert call("review", *arguments)[0] == 0
    assert ecg_ontology.load(folder).route("icd10:I48.0").label == label
    code, _, err = call("review", *arguments)
    assert (code, "is already routed to AF" in err) == (3, True)


def test_candidates_are_written_and_nothing_is_applied(folder, tmp_path):
    (tmp_path / "new.csv").write_text("code,label\nicd10:I44.7,left bundle branch block\n", encoding="utf-8")
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    code, out, err = call("match", tmp_path / "new.csv", "--out", tmp_path / "c.tsv", "--ontology", folder)
    assert (code, out.strip()) == (0, str(tmp_path / "c.tsv"))
    assert "1 new codes, 0 without a candidate" in err
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    "arguments", [(), ("--out", "a.tsv", "--apply", "b.tsv"), ("--out", "a.ods"), ("--add", "icd10:X")]
)
def test_review_without_one_clear_task_is_wrong_usage(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = call("review", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_a_bundle_has_no_tables_to_edit(tmp_path):
    ecg_ontology.load().save(tmp_path / "o.json")
    words = ("--add", "icd10:X", "--label", "x", "--node", "AF", "--author", "A")
    code, _, err = call("review", *words, "--ontology", tmp_path / "o.json")
    assert (code, "must be a folder of sources" in err) == (2, True)
