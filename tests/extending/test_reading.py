"""The examples of docs/extending.md for reading, installed as packages of their own."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.cli.calls import invoke
from tests.extending.examples import example
from tests.installed import install
from tests.made_records import make_ecg, make_record

from ecg_records.readers import discovery
from ecg_records.signal.leads import LEADS

POINTS = "[ecg_records.readers]\nbedside = bedside:Bedside\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path that holds the page's files and says, as a wheel does, what they offer."""
    install(tmp_path / "site", monkeypatch, POINTS, module="bedside", text=example("bedside.py"))
    discovery._installed.cache_clear()
    yield tmp_path
    discovery._installed.cache_clear()


def test_a_reader_of_ones_own_reads_beside_the_packages(place):
    make_record(place / "in", "wfdb")
    x_LC = make_ecg(fs=250).T
    np.savetxt(place / "in" / "bed1.bedside", x_LC, header=" ".join(LEADS), comments="")
    np.savetxt(place / "in" / "bed2.bedside", x_LC[:, :3], header="I II III", comments="")
    (place / "in" / "bed3.bedside").write_text("I II\nno numbers\n")
    _, out, _ = invoke("prepare", place / "in", "--out", place / "out", "--jobs", 1, "--format", "json")
    assert json.loads(out)["sources"] == {
        "bedside": {"found": 3, "kept": 1, "quarantined": {"missing-lead": 1, "unreadable": 1}},
        "in": {"found": 1, "kept": 1, "quarantined": {}},
    }
