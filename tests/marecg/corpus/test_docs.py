"""The corpus page tells of everything that can happen to a record."""

import re
from pathlib import Path

import ecg_records
import marecg
from marecg.errors import Reason

PAGE = (Path(__file__).parents[3] / "docs" / "corpus" / "index.md").read_text(encoding="utf-8")


def test_every_reason_of_a_quarantine_is_explained():
    table = PAGE.split("## Why a record is quarantined")[1].split("##")[0]
    assert re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE) == [str(reason) for reason in Reason]


def test_every_module_that_the_page_names_exists():
    folders = [Path(package.__file__).parent for package in (ecg_records, marecg)]
    named = re.findall(r"`([\w/]+\.py)`", PAGE)
    assert named
    assert all(any((folder / name).is_file() for folder in folders) for name in named)
