"""What becomes of numbers that mislead is what docs/corpus/limits.md says."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import resample_poly
from tests.made_records import make_ecg

from ecg_records.signal.leads import LEADS
from marecg.embedding.embed import embed
from marecg.errors import UsageError

PAGE = Path(__file__).parents[3] / "docs" / "corpus" / "limits.md"
X_CL = make_ecg(seed=0)
Given = tuple[NDArray[np.float64], float, tuple[str, ...]]


def changed(change) -> Given:
    x_CL = X_CL.copy()
    change(x_CL)
    return x_CL, 500, LEADS


def _swap(x_CL: NDArray[np.float64]) -> None:
    x_CL[[0, 1]] = x_CL[[1, 0]]


CASES: dict[str, Given] = {
    "in microvolts, or a converter's integers": (X_CL * 1000, 500, LEADS),
    "in volts": (X_CL / 1000, 500, LEADS),
    "limb leads swapped": changed(_swap),
    "a lead inverted": changed(lambda x_CL: np.negative(x_CL[6], out=x_CL[6])),
    "a lead that is a copy of another": changed(lambda x_CL: np.copyto(x_CL[7], x_CL[6])),
    "two leads with the same name": (X_CL, 500, (*LEADS[:11], "I")),
    "one lead": (X_CL[1:2], 500, ("II",)),
    "at 50 Hz": (resample_poly(X_CL, 1, 10, axis=1), 50, LEADS),
    "at 20,000 Hz": (resample_poly(X_CL[:, :2500], 40, 1, axis=1), 20_000, LEADS),
    "at 40 Hz": (X_CL, 40, LEADS),
    "recorded at 500 Hz, given as 250 Hz": (X_CL, 250, LEADS),
    "lasting 1 s": (X_CL[:, :500], 500, LEADS),
    "lasting 0.05 s": (X_CL[:, :25], 500, LEADS),
    "with one sample missing (NaN)": changed(lambda x_CL: np.put(x_CL, 7, np.nan)),
    "flat": (np.zeros_like(X_CL), 500, LEADS),
}


def rows() -> dict[str, str]:
    page = PAGE.read_text(encoding="utf-8").partition("## Numbers that mislead")[2]
    cells = re.findall(r"^\| (.+?) \| (.+?) \|$", page, re.M)[1:]
    return {record: outcome for record, outcome in cells if not record.startswith("---")}


def test_every_row_is_tried():
    assert list(rows()) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_it_is_computed_doubted_or_refused_as_the_page_says(name, model, caplog):
    outcome, _, words = rows()[name].partition(":")
    x_KL, fs, leads = CASES[name]

    def vector():
        return embed(model, x_KL[None].astype(np.float32), fs=fs, leads=leads).rhythm

    if outcome == "refused":
        with pytest.raises(UsageError, match=words.strip()):
            vector()
        return
    assert np.isfinite(vector()).all()
    doubts = [record.getMessage() for record in caplog.records]
    assert all(words.strip() in doubt for doubt in doubts)
    assert bool(doubts) == (outcome == "doubted")
