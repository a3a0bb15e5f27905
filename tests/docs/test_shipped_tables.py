"""What docs say of the shipped encoder that was probed again is what its scores say."""

from pathlib import Path

import pytest
from tests.docs.shipped_tables import FILES, tables, with_intervals

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("folds", FILES)
@pytest.mark.parametrize("name", ["shares", "full"])
def test_the_page_has_the_tables_that_the_scores_give(folds, name):
    assert tables(folds)[name] in (DOCS / "small.md").read_text(encoding="utf-8"), (
        "python -m tests.docs.shipped_tables"
    )


def test_the_encoders_page_has_the_rotations_with_their_intervals():
    assert with_intervals() in (DOCS / "pretrained.md").read_text(encoding="utf-8")
