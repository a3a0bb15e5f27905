"""Every figure that the project is to state has a row, and a row runs. No test looks at a time."""

from pathlib import Path

import pytest

from marecg.base.errors import UsageError
from marecg.bench.encoder import formula, head_share
from marecg.bench.ratio import FULL, Effort, Measured
from marecg.bench.supervision import from_ids
from marecg.bench.table import ROWS, as_json, as_markdown, as_text, choose, measure

PAGE = Path(__file__).parents[3] / "docs" / "performance.md"
STATED = {
    "encoder-forward": "≥ 0.88",
    "encoder-per-flop": "≥ 1.05",
    "encoder-both-ways": "≥ 0.88",
    "flop-formula": "= 1",
    "head-flops": "≤ 0.02",
    "c2-step": "≤ 2.5",
    "c3-step": "≤ 2.4",
    "small-step": "≥ 0.45",
    "checkpoint-lost": "≤ 0.01",
    "checkpoint-memory": "≤ 0.15",
    "checkpoint-time": "≤ 1.33",
    "adamw": "≥ 3",
    "ema": "≥ 3",
    "loader": "≥ 100",
    "targets-from-ids": "≥ 20",
    "targets-from-strings": "≥ 12",
    "d-tree": "≥ 5",
    "probe": "≥ 5",
    "probe-choice": "≥ 1",
    "probe-features": "≥ 1.1",
    "probe-minirocket": "≤ 1.6",
    "embed-full": "≥ 0.95",
    "embed-small": "≥ 0.95",
    "embed-two": "≥ 0.92",
    "onnx-fp32": "≥ 1",
    "onnx-int8": "≥ 1",
    "start-ecgonto": "≤ 2.2",
    "start-marecg": "≤ 2.2",
    "start-route": "≤ 1.3",
    "import-train": "≤ 1.5",
    "first-step": "≤ 2",
    "prepare": "≥ 2.5",
    "prepare-limit": "≤ 4",
    "prepare-paper": "≤ 1",
    "prepare-two": "≥ 0.92",
    "prepare-long": "≤ 1.1",
    "bytes": "≤ 1.01",
}


def test_every_stated_figure_has_a_row_with_its_reach() -> None:
    assert {name: str(row.reach) for name, row in ROWS.items()} == STATED


def test_rows_are_chosen_by_name_in_the_tables_order_and_all_are_without_one() -> None:
    assert [row.name for row in choose(["ema", "adamw"])] == ["adamw", "ema"]
    assert len(choose([])) == len(STATED)
    with pytest.raises(UsageError, match="no row 'speed'"):
        choose(["speed"])


def test_the_formula_counts_what_torch_counts_in_plain_products() -> None:
    assert formula(FULL) == [1.0]


def test_what_c3_adds_beside_decoder_and_predictor_is_under_2_percent_of_the_encoder() -> None:
    (share,) = head_share(FULL)
    assert 0 < share < 0.02


def test_a_row_runs_and_is_printed_in_every_format() -> None:
    effort = Effort(repeats=2, seconds=0, share=0.01)
    (measured,) = measure(choose(["targets-from-ids"]), effort)
    assert len(measured.ratios) == 2
    assert measured.row.measure is from_ids
    told = as_json([measured], effort)
    assert told["rows"][0]["name"] == "targets-from-ids"
    assert told["machine"]["threads"] >= 1
    assert "targets-from-ids" in as_text(measured)
    assert "targets-from-ids" in as_markdown([measured]).splitlines()[2]


def test_a_row_that_misses_its_reach_is_marked() -> None:
    row = ROWS["adamw"]
    assert as_text(Measured(row, [1.0])).startswith("!")
    assert as_text(Measured(row, [4.0])).startswith(" ")


def test_the_page_on_performance_holds_the_table_of_today_and_explains_each_row() -> None:
    """The table but for what was measured; each row's name stands in the text once more."""
    page = PAGE.read_text(encoding="utf-8")
    table, after = page.split("<!-- its end -->")
    table = table.partition("<!-- the output of `marecg bench --format markdown` -->")[2]
    today = as_markdown([Measured(row, [row.reach.value]) for row in ROWS.values()])
    assert unmeasured(table) == unmeasured(today)
    assert [name for name in ROWS if f"`{name}`" not in after] == ["start-ecgonto", "start-marecg"]


def unmeasured(table: str) -> list[list[str]]:
    """The cells of the rows without the ratio."""
    rows = [line.split("|") for line in table.splitlines() if line.startswith("|")]
    return [[cell for place, cell in enumerate(row) if place != 3] for row in rows]
