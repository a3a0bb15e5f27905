import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marecg.base.errors import InputError, UsageError
from marecg.evaluate.evaluation import evaluate
from marecg.evaluate.request import Request
from marecg.evaluate.table import Row, Value, columns, measured, measured_rows, merged, only, published, ranks
from marecg.evaluate.table_print import latex, long_csv, long_json, markdown

C = ("ptbxl-super", 1.0)

WHOLE = Request.named(fractions=(1.0,))


def row(method: str, mean: float | None, source: str = "published", group: str = "g") -> Row:
    return Row(source, group, method, {} if mean is None else {C: Value(mean)})


def test_the_published_rows_are_the_papers():
    rows = {row.method: row for row in published()}
    assert len(rows) == 20
    assert all(len(row.values) == 15 for row in rows.values())
    assert rows["MERL"].values["ptbxl-super", 0.01].mean == 82.39
    assert rows["MAR-ECG (C3)"].values["cpsc2018", 1.0].mean == 95.34
    assert rows["MAR-ECG (C2')"].values["ptbxl-sub", 0.1].mean == 83.06


def test_the_columns_are_the_papers_tasks_with_ascending_shares():
    found = columns(published())
    assert [task for task, _ in found[::3]] == [
        "ptbxl-super",
        "ptbxl-sub",
        "ptbxl-form",
        "ptbxl-rhythm",
        "cpsc2018",
    ]
    assert [share for _, share in found[:3]] == [0.01, 0.1, 1.0]


def test_best_and_second_best_are_ranked_within_each_source_and_equals_share_a_rank():
    rows = [row("a", 90.0), row("b", 91.0), row("c", 91.0), row("d", 99.0, "measured"), row("e", None)]
    assert ranks(rows, C) == {1: 1, 2: 1, 0: 2}
    assert ranks([row("a", 50.0), row("b", 50.0)], C) == {}


def test_rows_on_different_records_of_a_task_are_ranked_apart_and_it_is_said():
    few, many = (Value(0, records=records, asked=asked) for records, asked in ((94, "x"), (2158, "y")))
    rows = [
        Row("measured", run, "encoder", {C: replace(value, mean=mean)})
        for run, value, mean in (("a", few, 90.0), ("b", few, 80.0), ("c", many, 70.0), ("d", many, 60.0))
    ]
    assert ranks(rows, C) == {0: 1, 1: 2, 2: 1, 3: 2}
    assert "PTB-XL super 94 (a, b), 2158 (c, d)." in markdown(rows)
    assert "ranked apart" in markdown(rows)
    assert "PTB-XL super 94." in markdown(rows[:2])
    assert "ranked apart" not in markdown(rows[:2])


def test_a_run_of_which_nobody_knows_what_it_saw_is_named():
    rows = [Row("measured", "a", "encoder", {C: Value(90.0, records=94, leaked=None)})]
    assert (
        "not known what these were pretrained on, which may have been the test records: a: enc"
        in markdown(rows)
    )


def test_tasks_can_be_chosen_and_one_that_no_row_has_is_refused():
    rows = only([*published(), row("none", None, "measured")], ["cpsc2018"])
    assert columns(rows) == [("cpsc2018", 0.01), ("cpsc2018", 0.1), ("cpsc2018", 1.0)]
    assert "none" not in [row.method for row in rows]
    with pytest.raises(UsageError, match="no row has the task corpus"):
        only(published(), ["corpus"])


def test_runs_whose_folders_have_the_same_name_are_told_apart(gscl_run, ptbxl_root, tmp_path):
    report = evaluate(gscl_run, "ptbxl-super", ptbxl_root, WHOLE)
    rows = measured_rows([(Path(run), report) for run in ("a/c3", "b/c3", "c1")])
    assert [row.group for row in rows if row.method == "encoder"] == ["a/c3", "b/c3", "c1"]
    assert [row.method for row in rows][-2:] == ["random encoder", "hand-crafted"]


def words(text: str) -> str:
    """A table without its alignment."""
    return re.sub(" +", " ", text)


def test_in_markdown_every_row_says_where_it_is_from():
    text = markdown([row("MERL", 88.0), row("encoder", 70.0, "measured", "run-1")])
    assert words(text).splitlines()[:4] == [
        "| source | method | PTB-XL super 100% |",
        "| --------- | -------------- | ----------------: |",
        "| published | MERL | 88.00 |",
        "| measured | run-1: encoder | 70.00 |",
    ]
    assert "copied from the paper" in text


def test_the_columns_of_a_markdown_table_are_aligned_and_a_name_cannot_break_them():
    lines = markdown([row("a|b", 8.0), row("encoder", 70.0, "measured", "run-1")]).splitlines()[:4]
    assert len({len(line) for line in lines}) == 1
    assert r"| a\|b " in lines[2]


def test_in_latex_special_characters_are_escaped_and_the_sources_are_ruled_apart():
    text = latex([row("MERL", 88.0), row("encoder", 70.0, "measured", "run_1")])
    assert r"published & MERL & 88.00 \\" + "\n\\midrule" in text
    assert r"measured & run\_1: encoder & 70.00 \\" in text
    assert r"source & method & 100\% \\" in text


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S", "Zs")), min_size=1))
def test_whatever_a_run_is_called_its_latex_line_has_its_three_columns(name):
    text = latex([row("MERL", 88.0), row("encoder", 70.0, "measured", name)])
    (line,) = (line for line in text.splitlines() if line.startswith("measured"))
    bare = re.sub(r"\\[{}&]", "", line.removesuffix(r" \\").replace(r"\textbackslash{}", ""))
    assert bare.count("&") == 2
    assert not re.search(r"(?<!\\)[%$#_]", bare)
    assert not re.search(r"[~^]", bare)
    assert bare.count("{") == bare.count("}")


def test_in_latex_the_shares_stand_under_their_task_and_every_line_has_all_columns():
    lines = latex(published()).splitlines()
    assert lines[2].count(r"\multicolumn{3}{c}") == 5
    assert lines[3].split() == [rf"\cmidrule(lr){{{first}-{first + 2}}}" for first in range(3, 18, 3)]
    assert {line.count("&") for line in lines if line.startswith(("source", "published"))} == {16}
    assert lines.count(r"\midrule") == 4


def test_the_csv_has_one_line_per_number():
    text = long_csv(published())
    assert text.count("\n") == 301
    assert "\r" not in text, "lines end as those of every other output"
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 300
    assert rows[0] == {
        "source": "published",
        "group": "Self-Supervised Learning",
        "method": "SimCLR",
        "task": "ptbxl-super",
        "fraction": "0.01",
        "macro_auc": "63.41",
        "sd": "",
        "low": "",
        "high": "",
        "test_records": "",
        "rank": "",
        "task_sha256": "",
        "leaked_records": "",
        "seconds": "",
    }


def test_best_and_second_best_are_marked_in_every_format():
    rows = [row("a", 90.0), row("b", 91.0), row("c", 80.0), row("d", 70.0, "measured")]
    assert "| **91.00** |" in words(markdown(rows))
    assert "| _90.00_ |" in words(markdown(rows))
    assert r"\textbf{91.00}" in latex(rows)
    assert r"\underline{90.00}" in latex(rows)
    assert [line["rank"] for line in csv.DictReader(io.StringIO(long_csv(rows)))] == ["2", "1", "", ""]


def test_with_intervals_every_task_has_its_lines_and_every_share_its_column():
    values = {
        ("ptbxl-super", 0.1): Value(70.0, 1.5, (65.0, 75.0), 100),
        ("ptbxl-super", 1.0): Value(80.0, None, (76.0, 84.0), 100),
        ("cpsc2018", 1.0): Value(60.0, None, (50.0, 70.0), 20),
    }
    text = words(markdown([Row("measured", "run-1", "encoder", values)], intervals=True))
    assert "| task | source | method | 10% | 100% |" in text
    assert "| PTB-XL super | measured | run-1: encoder | 70.00 ± 1.50 [65.0, 75.0] | 80.00 [" in text
    assert "| CPSC2018 | measured | run-1: encoder | – | 60.00 [50.0, 70.0] |" in text
    assert r"\midrule" + "\nCPSC2018 & measured" in latex([Row("measured", "r", "encoder", values)], True)
    assert "| PTB-XL super | published | SimCLR | 63.41 |" in words(markdown(published(), intervals=True))


def test_a_leak_is_marked_where_it_is_and_explained_below():
    leaked = Row("measured", "run-1", "encoder", {C: Value(99.0, leaked=3)})
    clean = row("hand-crafted", 70.0, "measured", "run-1")
    text = words(markdown([leaked, clean]))
    assert "| **99.00†** |" in text
    assert "| _70.00_ |" in text
    assert "† pretrained on val or test records" in text
    assert r"\textbf{99.00$^\dagger$}" in latex([leaked, clean])
    assert "†" not in markdown([clean])
    assert [line["leaked_records"] for line in csv.DictReader(io.StringIO(long_csv([leaked])))] == ["3"]


def test_what_stands_beside_several_runs_with_the_same_numbers_stands_there_once():
    rows = [
        row("encoder", 70.0, "measured", "one"),
        row("hand-crafted", 80.0, "measured", "one"),
        row("random encoder", 50.0, "measured", "one"),
        row("encoder", 70.0, "measured", "two"),
        row("hand-crafted", 80.0, "measured", "two"),
        row("random encoder", 51.0, "measured", "two"),
    ]
    found = [(each.group, each.method) for each in merged(rows)]
    assert found == [
        ("one", "encoder"),
        ("", "hand-crafted"),
        ("one", "random encoder"),
        ("two", "encoder"),
        ("two", "random encoder"),
    ]
    assert "| measured | hand-crafted |" in words(markdown(merged(rows)))


def test_published_rows_are_never_merged_with_measured_ones():
    rows = [row("MERL", 80.0), row("MERL", 80.0, "measured")]
    assert merged(rows) == rows


def test_a_probed_run_gives_a_row_per_method(gscl_run, ptbxl_root):
    report = evaluate(gscl_run, "ptbxl-super", ptbxl_root, Request.named(fractions=(0.5, 1.0), seeds=2))
    rows = measured([gscl_run])
    own = ["encoder", "encoder, wide", "encoder, mean H"]
    assert [row.method for row in rows] == [*own, "random encoder", "hand-crafted", "zero-shot"]
    value = rows[0].values["ptbxl-super", 0.5]
    assert value.mean == pytest.approx(100 * report.cells[0].macro_auc.mean)
    assert (value.records, value.sd) == (6, pytest.approx(100 * report.cells[0].macro_auc.sd))
    assert "no labels" in markdown(rows)
    assert f"± {value.sd:.2f}" in markdown(rows)
    assert rf"$\pm$ {value.sd:.2f}" in latex(rows)


def test_a_run_without_probes_and_a_damaged_report_are_refused(tmp_path):
    with pytest.raises(UsageError, match="Run `marecg probe` on it first"):
        measured([tmp_path])
    (tmp_path / "probe").mkdir()
    (tmp_path / "probe/ptbxl-super-strict.json").write_text("{}")
    with pytest.raises(InputError, match="isn't a probe report"):
        measured([tmp_path])


def test_a_folder_that_is_no_run_is_passed_over_and_said(gscl_run, ptbxl_root, tmp_path, caplog):
    evaluate(gscl_run, "ptbxl-super", ptbxl_root, WHOLE)
    assert measured([gscl_run, tmp_path / "features"]) == measured([gscl_run])
    assert [f"{tmp_path / 'features'}: passed over" in each.message for each in caplog.records] == [True]


def test_json_has_the_same_objects_as_the_csv_has_lines():
    lines = list(csv.DictReader(io.StringIO(long_csv(published()))))
    objects = json.loads(long_json(published()))
    assert [
        {key: "" if value is None else str(value) for key, value in each.items()} for each in objects
    ] == lines
