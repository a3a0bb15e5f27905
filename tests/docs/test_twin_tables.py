"""What docs say of the twin is what its scores say."""

from pathlib import Path

import pytest
from tests.docs.twin_tables import tables

DOCS = Path(__file__).parents[2] / "docs"


SHOWN = {
    "small.md": {"twin": ("four", "six", "few", "other"), "second twin": ("four", "six", "few", "other")},
    "pretrained.md": {"second twin": ("four",)},
}


@pytest.mark.parametrize(
    ("page", "twin", "name"),
    [(page, twin, name) for page, twins in SHOWN.items() for twin, names in twins.items() for name in names],
)
def test_the_pages_have_the_tables_that_the_scores_give(page, twin, name):
    assert tables(twin)[name] in (DOCS / page).read_text(encoding="utf-8"), "python -m tests.docs.twin_tables"
