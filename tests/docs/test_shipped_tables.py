"""What docs say of the shipped encoder that was probed again is what its scores say."""

from pathlib import Path

import pytest
from tests.docs.shipped_tables import tables

PAGE = Path(__file__).parents[2] / "docs" / "small.md"


@pytest.mark.parametrize("name", ["shares", "full"])
def test_the_page_has_the_tables_that_the_scores_give(name):
    assert tables()[name] in PAGE.read_text(encoding="utf-8"), "python -m tests.docs.shipped_tables"
