"""What docs say of networks from scratch is what their scores say."""

from pathlib import Path

import pytest
from tests.docs.supervised_tables import tables

PAGE = Path(__file__).parents[2] / "docs" / "small.md"


@pytest.mark.parametrize("name", ["AUROC", "paired", "AUPRC", "F_max"])
def test_the_page_has_the_tables_that_the_scores_give(name):
    assert tables()[name] in PAGE.read_text(encoding="utf-8"), "python -m tests.docs.supervised_tables"
