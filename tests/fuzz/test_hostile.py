"""Small copies of the inputs that once took hours or gigabytes, beside bounds that are smaller by as much."""

import re

import pytest
from tests.fuzz.hostile import INPUTS, outcomes

import marecg.corpus.prepare  # what the processes need, loaded once
import marecg.use.embed_records
import marecg.use.predict  # noqa: F401
from marecg.read import array_files, stretch
from marecg.read.clinical import dicom

SIZE = 0.005
BOUNDS = {
    stretch: ("MOST_BYTES", "MOST_CODES"),
    array_files: ("LARGEST_CHUNK", "MOST_MEMBERS"),
    dicom: ("MOST_ELEMENTS",),
}


@pytest.mark.parametrize("name", INPUTS)
def test_it_is_read_or_refused_in_one_line_and_in_bounds(name, tmp_path, monkeypatch):
    for module, bounds in BOUNDS.items():
        for bound in bounds:
            monkeypatch.setattr(module, bound, round(getattr(module, bound) * SIZE))
    for command, done in outcomes(name, tmp_path, SIZE):
        assert done.code in {0, 3}, (command, done.said)
        assert "Traceback" not in done.said
        assert re.search(INPUTS[name].says, done.said), (command, done.said)
        assert max(map(len, done.said.splitlines())) < 400
        assert done.seconds < 5
        assert done.growth < 1 << 29
