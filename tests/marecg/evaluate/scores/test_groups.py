"""Figures by age, sex and source."""

import numpy as np
import pandas as pd
import pytest

from marecg.evaluate.scores.metrics import age_bands, class_auc, group_figures, scored


def test_ages_lie_in_bands_that_begin_where_the_last_one_ended():
    bands = age_bands(pd.Series([0, 39.5, 40, 79, 80, 101, np.nan])).astype(object).fillna("").tolist()
    assert bands == ["0–39", "0–39", "40–59", "60–79", "80+", "80+", ""]


def test_a_group_is_judged_on_the_classes_that_it_has_enough_of_beside_everyone_on_the_same():
    generator = np.random.default_rng(0)
    sex = ["F"] * 40 + ["M"] * 60 + [None] * 10
    y_MK = (generator.random((110, 2)) < 0.4).astype(np.uint8)
    y_MK[:40, 1] = np.arange(40) < 4  # four women have the second class: too few
    logits_SMK = y_MK + generator.normal(0, 1, (3, 110, 2))
    people = {"sex": sex, "source": ["one"] * 110, "age": [50.0] * 110}
    women, men = group_figures(people, y_MK, logits_SMK)
    assert (women.kind, women.name, women.records, women.classes) == ("sex", "F", 40, 1)
    assert (men.name, men.records, men.classes) == ("M", 60, 2)

    def mean_auc(rows: slice, classes: list[int]) -> float:
        return float(np.mean([class_auc(y_MK[rows], each[rows])[classes].mean() for each in logits_SMK]))

    assert women.auc == pytest.approx(mean_auc(slice(40), [0]))
    assert women.everyone == pytest.approx(mean_auc(slice(110), [0]))
    assert men.auc == pytest.approx(mean_auc(slice(40, 100), [0, 1]))
    assert women.low < women.auc < women.high


def test_a_rotation_in_which_a_class_cannot_be_told_takes_no_part():
    generator = np.random.default_rng(0)
    y_M1 = (generator.random((60, 1)) < 0.4).astype(np.uint8)
    y_M1[20:40] = 0
    logits_SM1 = y_M1 + generator.normal(0, 1, (2, 60, 1))
    auc, low, high = scored(y_M1, logits_SM1, np.repeat([0, 1, 2], 20))
    whole = (slice(20), slice(40, 60))
    parts = [class_auc(y_M1[rows], each[rows])[0] for rows in whole for each in logits_SM1]
    assert auc == pytest.approx(np.mean(parts))
    assert low < auc < high
