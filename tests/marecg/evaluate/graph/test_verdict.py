"""The answer's arithmetic, on numbers that can be checked by hand."""

import numpy as np
import pandas as pd
import pytest

from marecg.evaluate.graph import verdict


def units(**arms: list[float]) -> pd.DataFrame:
    """Two bases with two seeds each; a name's underscore is a blank."""
    index = pd.MultiIndex.from_product([[0, 1], [0, 1]], names=["base", "seed"])
    return pd.DataFrame({name.replace("_", " "): values for name, values in arms.items()}, index)


SOME = units(real=[3, 5, 5, 7], edgeless=[1, 1, 1, 1], shuffle_0=[4, 4, 6, 6], shuffle_1=[2, 2, 2, 2])


def test_a_difference_has_an_interval_over_units_and_a_wider_one_over_bases():
    mean, over_units, over_bases = verdict.difference(SOME, "real", "edgeless")
    assert mean == 4
    assert over_units == pytest.approx(3.182 * np.std([2, 4, 4, 6], ddof=1) / 2, rel=1e-3)
    assert over_bases == pytest.approx(12.706, rel=1e-3)  # t of one degree of freedom, SD √2, two bases


def test_shuffles_that_are_as_good_count_against_the_real_graph():
    assert verdict.permutation(SOME) == pytest.approx(2 / 3)  # shuffle 0 is as good
    assert verdict.permutation(-SOME, lower_is_better=True) == pytest.approx(2 / 3)
    assert verdict.permutation(SOME.assign(real=SOME["real"] + 1)) == pytest.approx(1 / 3)


def test_holm_multiplies_the_least_p_most():
    assert verdict.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_sigma_is_chosen_on_one_half_of_the_leaves_and_scored_on_the_other():
    value = {(0.5, "a"): 90, (0.5, "b"): 10, (1.0, "a"): 20, (1.0, "b"): 80}
    rows = [
        {"metric": "auc", "arm": "real", "base": 0, "seed": 0, "sigma": sigma, "of": leaf, "value": points}
        for (sigma, leaf), points in value.items()
    ]
    scored = verdict.primary(pd.DataFrame(rows), ["a", "b"])
    assert scored["real"].tolist() == [15]  # a chooses 0.5, which gives 10 on b; b chooses 1, 20 on a


def test_each_regime_is_read_at_the_step_where_held_out_records_are_learnt_best():
    rows = [
        {"metric": "closed", "regime": regime, "step": step, "value": share}
        for regime, step, share in (("all", 1, 0.2), ("all", 2, 0.5), ("few", 1, 0.4), ("few", 2, 0.1))
    ]
    chosen = verdict.at_mark(pd.DataFrame(rows))
    assert chosen[["regime", "step"]].to_numpy().tolist() == [["all", 2], ["few", 1]]


def test_seeds_that_differ_by_chance_alone_are_the_null():
    assert verdict.null(units(real=[1, 3, 1, 3])) == 2
