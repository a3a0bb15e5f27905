"""What the paper's text says of its own table of linear probes."""

import csv
from importlib.resources import files

import numpy as np
import pytest

with (files("marecg.evaluate") / "published.tsv").open(encoding="utf-8", newline="") as file:
    HEAD, *ROWS = csv.reader(file, delimiter="\t")
AUC = {method: np.array(cells, float) for _, method, *cells in ROWS}
MULTIMODAL = [AUC[method] for group, method, *_ in ROWS if group == "Multimodal"]
C1, C2P, C2, C3 = (AUC[f"MAR-ECG ({name})"] for name in ("C1", "C2'", "C2", "C3"))


def test_mar_ecg_reaches_the_best_multimodal_row_in_six_cells():
    reached = np.max([C1, C2P, C2, C3], axis=0) >= np.max(MULTIMODAL, axis=0)
    assert [HEAD[2 + cell] for cell in np.flatnonzero(reached)] == [
        "ptbxl-super 0.1",
        "ptbxl-super 1",
        "ptbxl-sub 1",
        "ptbxl-form 1",
        "cpsc2018 0.1",
        "cpsc2018 1",
    ]


def test_the_gain_of_gscl_is_that_over_c2p():
    printed = {
        "ptbxl-rhythm 0.01": 16.99,
        "ptbxl-sub 0.01": 7.52,
        "ptbxl-form 0.01": 5.84,
        "cpsc2018 0.01": 5.37,
    }
    over_c1 = dict(zip(HEAD[2:], C2 - C1, strict=True))
    assert {cell: over_c1[cell] for cell in printed} == pytest.approx(printed)
    gain = C2 - C2P
    assert gain.mean() == pytest.approx(0.79, abs=0.005)
    assert [HEAD[2 + cell] for cell in np.flatnonzero(gain < 0)] == [
        "ptbxl-sub 0.01",
        "ptbxl-sub 0.1",
        "ptbxl-form 0.01",
    ]
