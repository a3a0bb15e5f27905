"""The arithmetic of a row, by hand."""

from itertools import count

import pytest

from marecg.bench.ratio import Effort, Measured, Reach, Row, Turn, alternate


def row(sign: str, value: float) -> Row:
    return Row("name", "what", "against", Reach(sign, value), "", lambda effort: [])  # type: ignore[arg-type]


def test_a_row_is_the_median_of_its_ratios_and_half_the_distance_of_their_quartiles() -> None:
    measured = Measured(row("≥", 2), [1.0, 2.0, 3.0, 7.0, 99.0])
    assert (measured.ratio, measured.spread, measured.met) == (3.0, 2.5, True)
    assert Measured(row("=", 1), [1.0]).spread == 0


@pytest.mark.parametrize(
    ("sign", "below", "at", "above"),
    [("≥", False, True, True), ("≤", True, True, False), ("=", False, True, False)],
)
def test_a_reach_is_met_on_its_side(sign: str, below: bool, at: bool, above: bool) -> None:
    met = [Measured(row(sign, 2.0), [ratio]).met for ratio in (1.9, 2.0, 2.1)]
    assert met == [below, at, above]


def test_both_sides_take_turns_and_the_first_turn_is_not_counted() -> None:
    calls: list[str] = []
    turns = alternate(
        lambda: calls.append("ours"), lambda: calls.append("baseline"), Effort(repeats=2, seconds=0)
    )
    assert calls == ["ours", "baseline"] * 3
    assert len(turns) == 2


def test_short_turns_are_taken_until_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.perf_counter", count(step=0.25).__next__)  # so long is every call
    turns = alternate(lambda: None, lambda: None, Effort(repeats=2, seconds=4))
    assert len(turns) == 7
    assert set(turns) == {Turn(0.25, 0.25)}


def test_an_effort_takes_its_share_and_never_nothing() -> None:
    assert [Effort(share=0.25).of(number) for number in (1, 40)] == [1, 10]
