"""What docs say of the twin is what its scores say."""

from pathlib import Path

import pytest
from tests.docs.twin_tables import tables

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("page", "name"),
    [*(("small.md", name) for name in ("four", "six", "few", "other")), ("pretrained.md", "four")],
)
def test_the_pages_have_the_tables_that_the_scores_give(page, name):
    assert tables()[name] in (DOCS / page).read_text(encoding="utf-8"), "python -m tests.docs.twin_tables"
