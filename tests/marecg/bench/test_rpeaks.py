"""The refined detector is as good on known beats as it has to be, and the one that it refines is not."""

from marecg.bench.rpeaks import FS, annotated, detect, find_raw, score, table


def test_refined_r_peaks_are_found_at_their_place_and_raw_ones_lag() -> None:
    records = annotated(200)
    refined = score(lambda lead: detect(lead, FS), records)
    assert refined.sensitivity >= 0.99
    assert refined.predictive_value >= 0.975
    assert refined.p95_lag <= 15
    raw = score(lambda lead: find_raw(lead, FS), records[:50])
    assert raw.p95_lag > 50, "δ_R"


def test_the_table_has_a_line_per_detector() -> None:
    first, _, *rows = table(2)
    assert first.startswith("2 records")
    assert len(rows) == 4
