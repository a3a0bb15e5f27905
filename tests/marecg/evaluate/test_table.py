import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.marecg.evaluate.made_tasks import ALONE, HALF_AND_WHOLE, WHOLE, probed

from marecg.errors import InputError, UsageError
from marecg.evaluate.table import (
    measured,
    merged,
    names_of,
    of_reports,
    only,
    published,
    ranks,
    tasks_of,
    tidy,
)
from marecg.evaluate.table_print import latex, long_csv, long_json, markdown


def row(
    method: str, mean: float, source: str = "published", group: str = "g", **others: Any
) -> dict[str, Any]:
    line = {"source": source, "group": group, "method": method, "task": "ptbxl-super", "fraction": 1.0}
    return line | {"macro_auc": mean} | ({"leaked_records": 0} if source == "measured" else {}) | others


def test_the_published_rows_are_the_papers():
    scores = published().set_index(["method", "task", "fraction"])["macro_auc"]
    assert len(scores) == 20 * 15
    assert scores["MERL", "ptbxl-super", 0.01] == 82.39
    assert scores["MAR-ECG (C3)", "cpsc2018", 1.0] == 95.34
    assert scores["MAR-ECG (C2')", "ptbxl-sub", 0.1] == 83.06


def test_the_papers_tasks_come_first_in_its_order():
    tasks = ["ptbxl-super", "ptbxl-sub", "ptbxl-form", "ptbxl-rhythm", "cpsc2018"]
    scores = pd.concat([tidy([row("a", 1.0, task="b"), row("a", 1.0, task="a")]), published()])
    assert tasks_of(scores) == [*tasks, "a", "b"]


def test_best_and_second_best_are_ranked_within_each_source_and_equals_share_a_rank():
    scores = tidy([row("a", 90.0), row("b", 91.0), row("c", 91.0), row("d", 99.0, "measured")])
    assert ranks(scores).dropna().to_dict() == {0: 2, 1: 1, 2: 1}
    assert not ranks(tidy([row("a", 50.0), row("b", 50.0)])).notna().any()


def test_rows_on_different_records_of_a_task_are_ranked_apart_and_it_is_said():
    few, many = {"test_records": 94, "task_sha256": "x"}, {"test_records": 2158, "task_sha256": "y"}
    runs = (("a", few, 90.0), ("b", few, 80.0), ("c", many, 70.0), ("d", many, 60.0))
    scores = tidy(row("encoder", mean, "measured", run, **asked) for run, asked, mean in runs)
    assert ranks(scores).tolist() == [1, 2, 1, 2]
    assert "PTB-XL super 94 (a, b), 2158 (c, d)." in markdown(scores)
    both = pd.concat([scores, scores.assign(task="ptbxl-sub")])
    assert [markdown(each).count("ranked separately") for each in (scores, both)] == [1, 1]
    assert "PTB-XL super 94." in markdown(scores[:2])
    assert "ranked separately" not in markdown(scores[:2])


def test_a_run_of_which_nobody_knows_what_it_saw_is_named():
    scores = tidy([row("encoder", 90.0, "measured", "a", test_records=94, leaked_records=None)])
    note = "encoders are unknown and may include test records: a: enc"
    assert note in markdown(scores)


def test_tasks_can_be_chosen_and_one_that_no_row_has_is_refused():
    scores = only(pd.concat([published(), tidy([row("none", 1.0, "measured")])]), ["cpsc2018"])
    assert set(scores["task"]) == {"cpsc2018"}
    assert "none" not in set(scores["method"])
    with pytest.raises(UsageError, match="no run was probed on corpus"):
        only(published(), ["corpus"])


def test_runs_whose_folders_have_the_same_name_are_told_apart(gscl_run, ptbxl_root, tmp_path):
    report = probed(gscl_run, "ptbxl-super", ptbxl_root, WHOLE)
    scores = of_reports([(Path(run), report) for run in ("a/c3", "b/c3", "c1")])
    assert scores["group"][scores["method"] == "encoder"].tolist() == ["a/c3", "b/c3", "c1"]
    assert scores["method"].tolist()[-2:] == ["random encoder", "hand-crafted"]


def words(text: str) -> str:
    """A table without its alignment."""
    return re.sub(" +", " ", text)


def test_in_markdown_every_row_says_where_it_is_from_and_no_name_breaks_the_columns():
    text = markdown(tidy([row("a|b", 8.0), row("encoder", 70.0, "measured", "run-1")]))
    assert words(text).splitlines()[:4] == [
        "| source | method | PTB-XL super 100% |",
        "| --------- | -------------- | ----------------: |",
        r"| published | a\|b | 8.00 |",
        "| measured | run-1: encoder | 70.00 |",
    ]
    assert len({len(line) for line in text.splitlines()[:4]}) == 1
    assert "copied from the paper" in text


def test_in_latex_special_characters_are_escaped_and_the_sources_are_ruled_apart():
    text = latex(tidy([row("MERL", 88.0), row("encoder", 70.0, "measured", "run_1")]))
    assert r"published & MERL & 88.00 \\" + "\n\\midrule" in text
    assert r"measured & run\_1: encoder & 70.00 \\" in text
    assert r"source & method & 100\% \\" in text


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S", "Zs")), min_size=1))
def test_whatever_a_run_is_called_its_latex_line_has_its_three_columns(name):
    text = latex(tidy([row("MERL", 88.0), row("encoder", 70.0, "measured", name)]))
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
    group = {"source": "published", "group": "Self-Supervised Learning", "method": "SimCLR"}
    first = {**group, "task": "ptbxl-super", "fraction": "0.01", "macro_auc": "63.41"}
    measured_only = "sd low high test_records task_sha256 leaked_records records seeds dimension versus"
    measured_only += " versus_low versus_high seconds h_rank auprc f_max rank"
    assert rows[0] == first | dict.fromkeys(measured_only.split(), "")
    objects = json.loads(long_json(published()))
    texts = [{name: "" if each is None else str(each) for name, each in row.items()} for row in objects]
    assert texts == rows, "JSON has the same objects"


def test_best_and_second_best_are_marked_in_every_format():
    rows = tidy([row("a", 90.0), row("b", 91.0), row("c", 80.0), row("d", 70.0, "measured")])
    assert "| **91.00** |" in words(markdown(rows))
    assert "| _90.00_ |" in words(markdown(rows))
    assert r"\textbf{91.00}" in latex(rows)
    assert r"\underline{90.00}" in latex(rows)
    assert [line["rank"] for line in csv.DictReader(io.StringIO(long_csv(rows)))] == ["2", "1", "", ""]


def test_with_intervals_every_task_has_its_lines_and_every_share_its_column():
    figures = (
        ("ptbxl-super", 0.1, 70.0, 1.5, (65.0, 75.0)),
        ("ptbxl-super", 1.0, 80.0, None, (76.0, 84.0)),
        ("cpsc2018", 1.0, 60.0, None, (50.0, 70.0)),
    )
    scores = tidy(
        row("encoder", mean, "measured", "run-1", task=task, fraction=share, sd=sd, low=ends[0], high=ends[1])
        for task, share, mean, sd, ends in figures
    )
    text = words(markdown(scores, intervals=True))
    assert "| task | source | method | 10% | 100% |" in text
    assert "| PTB-XL super | measured | run-1: encoder | 70.00 ± 1.50 [65.0, 75.0] | 80.00 [" in text
    assert "| CPSC2018 | measured | run-1: encoder | – | 60.00 [50.0, 70.0] |" in text
    assert r"\midrule" + "\nCPSC2018 & measured" in latex(scores, True)
    assert "| PTB-XL super | published | SimCLR | 63.41 |" in words(markdown(published(), intervals=True))


def test_a_leak_is_marked_where_it_is_and_explained_below():
    leaked = row("encoder", 99.0, "measured", "run-1", leaked_records=3)
    clean = row("hand-crafted", 70.0, "measured", "run-1")
    text = words(markdown(tidy([leaked, clean])))
    assert "| **99.00†** |" in text
    assert "| _70.00_ |" in text
    assert "† The encoder was pretrained on val or test records" in text
    assert r"\textbf{99.00$^\dagger$}" in latex(tidy([leaked, clean]))
    assert "†" not in markdown(tidy([clean]))
    assert [line["leaked_records"] for line in csv.DictReader(io.StringIO(long_csv(tidy([leaked]))))] == ["3"]


def test_what_stands_beside_several_runs_with_the_same_numbers_stands_there_once():
    means = {"encoder": (70.0, 70.0), "hand-crafted": (80.0, 80.0), "random encoder": (50.0, 51.0)}
    scores = tidy(
        row(method, each[number], "measured", run)
        for number, run in enumerate(("one", "two"))
        for method, each in means.items()
    )
    own = [(run, method) for run in ("one", "two") for method in ("encoder", "random encoder")]
    assert [*merged(scores)[["group", "method"]].itertuples(index=False, name=None)] == [
        *own,
        ("", "hand-crafted"),
    ]
    assert "| measured | hand-crafted |" in words(markdown(merged(scores)))
    scores = tidy([row("MERL", 80.0), row("MERL", 80.0, "measured")])
    assert merged(scores)["source"].tolist() == ["published", "measured"], "these are never merged"


def test_a_row_is_shared_only_where_all_that_both_have_is_alike():
    one, two = (row("random encoder", 50.0, "measured", run) for run in ("one", "two"))
    more = {**one, "group": "two", "task": "cpsc2018"}
    both = merged(tidy([one, two, more]))
    assert both["group"].tolist() == ["", ""]
    assert set(both["task"]) == {"ptbxl-super", "cpsc2018"}
    apart = merged(tidy([one, {**one, "task": "cpsc2018"}, two, {**more, "macro_auc": 51.0}]))
    assert apart["group"].tolist() == ["one", "one", "two", "two"]


def test_a_run_that_collapsed_on_one_task_is_named_so_on_all():
    ranked = (("ptbxl-super", 9.0), ("x", 1.4))
    scores = tidy(row("encoder", 50.0, "measured", task=task, h_rank=rank) for task, rank in ranked)
    assert names_of(merged(scores)).tolist() == ["g: encoder (collapsed)"] * 2


def test_a_probed_run_gives_a_row_per_method(gscl_run, ptbxl_root):
    report = probed(gscl_run, "ptbxl-super", ptbxl_root, HALF_AND_WHOLE)
    scores = measured([gscl_run])
    own = ["encoder", "encoder, wide", "encoder, mean H"]
    methods = [*own, "zero-shot", "random encoder", "hand-crafted"]
    assert sorted(scores["method"].unique()) == sorted(methods)
    value = scores.iloc[0]
    assert value["fraction"] == 0.5
    assert value["macro_auc"] == pytest.approx(100 * report.cells[0].macro_auc.mean)
    assert (value["test_records"], value["sd"]) == (6, pytest.approx(100 * report.cells[0].macro_auc.sd))
    assert "no labels" in markdown(scores)
    assert f"± {value['sd']:.2f}" in markdown(scores)
    assert rf"$\pm$ {value['sd']:.2f}" in latex(scores)


def test_a_run_without_probes_and_a_damaged_report_are_refused(tmp_path):
    with pytest.raises(UsageError, match="Run `marecg probe` on it first"):
        measured([tmp_path])
    (tmp_path / "probe").mkdir()
    (tmp_path / "probe/ptbxl-super-strict.json").write_text("{}")
    with pytest.raises(InputError, match="isn't a probe report"):
        measured([tmp_path])


def test_a_folder_that_is_no_run_is_passed_over_and_said(gscl_run, ptbxl_root, tmp_path, caplog):
    probed(gscl_run, "ptbxl-super", ptbxl_root, ALONE)
    both = measured([gscl_run, tmp_path / "features"])
    pd.testing.assert_frame_equal(both, measured([gscl_run]))
    assert [f"{tmp_path / 'features'}: skipped" in each.message for each in caplog.records] == [True]
