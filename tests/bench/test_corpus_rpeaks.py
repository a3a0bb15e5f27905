"""The refined detector is as good on known beats as it has to be, and the one that it refines is not."""

from importlib import import_module
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


def test_refined_r_peaks_are_found_at_their_place_and_raw_ones_lag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY))
    bench = import_module("bench.corpus_rpeaks")
    records = bench.annotated(200)
    refined = bench.score(lambda lead: bench.detect(lead, bench.FS), records)
    assert refined.sensitivity >= 0.99
    assert refined.predictive_value >= 0.975
    assert refined.p95_lag <= 15
    raw = bench.score(lambda lead: bench.find_raw(lead, bench.FS), records[:50])
    assert raw.p95_lag > 50, "δ_R"
