"""What pages say of the encoder small is what its scores say."""

from pathlib import Path

import pytest
from research.small import (
    average_table,
    shipped_tables,
    supervised_tables,
    tokens_table,
    twin_tables,
)

ROOT = Path(__file__).parents[2]
LOG = (ROOT / "research" / "small" / "log.md").read_text(encoding="utf-8")
SHIPPED = (ROOT / "research" / "small" / "shipped.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("twin", twin_tables.TWINS)
def test_the_log_has_the_tables_of_the_twins(twin):
    assert all(table in LOG for table in twin_tables.tables(twin).values())


@pytest.mark.parametrize("folds", shipped_tables.FILES)
def test_the_log_has_the_tables_of_the_shipped_encoder(folds):
    assert all(table in LOG for table in shipped_tables.tables(folds).values())


def test_the_log_has_the_tables_of_networks_from_scratch():
    assert all(table in LOG for table in supervised_tables.tables().values())


@pytest.mark.parametrize("part", average_table.PARTS)
def test_the_log_has_the_tables_of_averages(part):
    assert "\n".join(average_table.table(part)[2:]) in LOG


@pytest.mark.parametrize("tasks", [tokens_table.FOUR, tokens_table.SIX])
def test_the_log_has_the_tables_of_tokens(tasks):
    assert "\n".join(tokens_table.lines(tasks)) in LOG


def test_the_record_of_the_encoders_has_the_second_twin_and_the_rotations():
    assert twin_tables.tables("second twin")["four"] in SHIPPED
    assert shipped_tables.with_intervals() in SHIPPED
