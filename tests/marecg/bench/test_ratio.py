"""The arithmetic of a row, by hand."""

from time import sleep

import pytest

from marecg.bench.ratio import Effort, Measured, Reach, Row, alternate


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


def test_short_turns_are_taken_until_the_time_is_over() -> None:
    turns = alternate(lambda: sleep(0.002), lambda: sleep(0.002), Effort(repeats=2, seconds=0.1))
    assert len(turns) > 5
    assert sum(turn.ours + turn.baseline for turn in turns) < 1


def test_an_effort_takes_its_share_and_never_nothing() -> None:
    assert [Effort(share=0.25).of(number) for number in (1, 40)] == [1, 10]
