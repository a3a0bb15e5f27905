"""The corpus page tells of everything that can happen to a record."""

import re
from pathlib import Path

from marecg.errors import Reason

PAGE = (Path(__file__).parents[3] / "docs" / "corpus" / "index.md").read_text(encoding="utf-8")


def test_every_reason_of_a_quarantine_is_explained():
    table = PAGE.split("## Why a record is quarantined")[1].split("##")[0]
    assert re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE) == [str(reason) for reason in Reason]
