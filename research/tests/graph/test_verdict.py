"""The answer's arithmetic, on numbers that can be checked by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from marecg_research.graph import differences, endpoints
from marecg_research.graph.verdict import write_answer


def units(**arms: list[float]) -> pd.DataFrame:
    """Two bases with two seeds each; a name's underscore is a blank."""
    index = pd.MultiIndex.from_product([[0, 1], [0, 1]], names=["base", "seed"])
    return pd.DataFrame({name.replace("_", " "): values for name, values in arms.items()}, index)


SOME = units(real=[3, 5, 5, 7], edgeless=[1, 1, 1, 1], shuffle_0=[4, 4, 6, 6], shuffle_1=[2, 2, 2, 2])


def test_the_interval_of_a_crossed_difference_follows_from_its_mean_squares():
    table = pd.DataFrame([[1.0, 4.0, 4.0], [2.0, 7.0, 6.0]], index=[0, 1], columns=[0, 1, 2])  # bases × seeds
    of = differences.crossed(table.rename_axis("base").rename_axis("seed", axis=1).stack())
    base, seed, rest = 6.0, 9.5, 0.5  # mean squares by hand: df 1, 2, 2
    assert of.mean == 4
    assert (of.base, of.seed, of.residual) == pytest.approx(((base - rest) / 3, (seed - rest) / 2, rest))
    total = base + seed - rest
    df = total**2 / (base**2 / 1 + seed**2 / 2 + rest**2 / 2)
    assert of.df == pytest.approx(df)
    assert of.reach == pytest.approx(student.ppf(0.975, df) * (total / 6) ** 0.5)


def test_a_negative_component_is_printed_and_counts_as_none():
    table = pd.DataFrame([[1.0, 5.0], [3.0, 3.0]], index=[0, 1], columns=[0, 1])  # means of bases are equal
    of = differences.crossed(table.rename_axis("base").rename_axis("seed", axis=1).stack())
    assert of.base < 0  # mean squares: 0, 4, 4
    assert of.seed == 0
    assert of.reach == pytest.approx(student.ppf(0.975, 1) * (4 / 4) ** 0.5)


def test_seeds_that_all_bases_share_do_not_cancel():
    """Over bases alone the interval would be nothing; the seeds' differences are all there is."""
    of = differences.crossed(units(real=[0, 4, 0, 4])["real"])
    assert of.mean == 2
    assert of.reach == pytest.approx(12.706 * 2, rel=1e-3)


def test_with_one_base_the_interval_is_over_its_seeds():
    of = differences.difference(SOME.loc[[0]], "real", "edgeless")
    assert (of.mean, of.df) == (3, 1)
    assert of.reach == pytest.approx(12.706, rel=1e-3)


def test_shuffles_that_are_as_good_count_against_the_real_graph():
    assert differences.permutation(SOME) == pytest.approx(2 / 3)  # shuffle 0 is as good
    assert differences.permutation(-SOME, lower_is_better=True) == pytest.approx(2 / 3)
    assert differences.permutation(SOME.assign(real=SOME["real"] + 1)) == pytest.approx(1 / 3)


def test_holm_multiplies_the_least_p_most():
    assert differences.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_sigma_is_chosen_by_held_out_source_records_and_not_by_what_is_judged():
    value = {(0.5, "choosing"): 70, (0.5, "primary"): 10, (1.0, "choosing"): 60, (1.0, "primary"): 80}
    kept = pd.DataFrame(
        {"arm": "real", "base": 0, "seed": 0, "sigma": sigma, "endpoint": endpoint, "value": points}
        for (sigma, endpoint), points in value.items()
    )
    sigmas = endpoints.chosen_sigmas(kept)
    assert sigmas == {"real": 0.5}
    assert endpoints.units(kept, "primary", sigmas)["real"].tolist() == [10]


def test_each_regime_is_read_at_the_step_where_held_out_records_are_learnt_best():
    rows = [
        {"metric": "closed", "regime": regime, "step": step, "value": share}
        for regime, step, share in (("all", 1, 0.2), ("all", 2, 0.5), ("few", 1, 0.4), ("few", 2, 0.1))
    ]
    chosen = endpoints.at_mark(pd.DataFrame(rows))
    assert chosen[["regime", "step"]].to_numpy().tolist() == [["all", 2], ["few", 1]]


def test_a_difference_at_few_records_has_its_intervals_over_draws_and_over_leaves(tmp_path):
    rows = [
        ("k = 1", draw, arm, endpoint, value + plus)
        for draw in (0, 1)
        for endpoint, value in (("primary", 60.0 + draw), ("leaf AF", 50.0), ("leaf LBBB", 70.0 + 2 * draw))
        for arm, plus in (("real", 1.0 + 2 * (endpoint == "leaf AF")), ("edgeless", 0.0))
    ]
    kept = pd.DataFrame(rows, columns=["regime", "seed", "arm", "endpoint", "value"])
    text = write_answer(kept.assign(base=0, sigma=np.nan), {}, tmp_path)
    assert "| mean of k = 1 | points | ± over draws | by 2 leaves | ± over leaves |" in text
    assert "| real − edgeless | +1.00 | 0.00 | +2.00 | 12.71 |" in text  # leaves: +3 and +1
    assert [path.name for path in tmp_path.iterdir()] == ["table.md"]  # there is no regime to draw
