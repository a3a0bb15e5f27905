"""Several rotations of the folds: test records pooled, scores within each rotation, intervals over both."""

import numpy as np
import pytest
from tests.marecg.evaluate.made_tasks import probed

from marecg.evaluate.request import Request
from marecg.evaluate.scores import predictions
from marecg.evaluate.scores.metrics import macro_auc, resampled_macro_auc
from marecg.evaluate.scores.predictions import bootstrap, compare, delong
from marecg.evaluate.tasks.task import Folds

ROTATIONS = ("1-5,6,7-8", "5-8+1,2,3-4")
RNG = np.random.default_rng(0)
Y = (RNG.random((60, 2)) < 0.4).astype(np.uint8)
GOOD, BAD = (Y + noise * RNG.normal(size=(2, 60, 2)) for noise in (0.5, 2.0))
ROTATION = np.repeat([0, 1], [40, 20])
HALVES = (slice(0, 40), slice(40, 60))


@pytest.fixture(scope="module")
def reports(gscl_run, ptbxl_root, tmp_path_factory):
    """The report on both rotations, those on each, and where the first one is kept."""
    out = tmp_path_factory.mktemp("rotations")

    def probe(*folds):
        without = ("encoder, wide", "encoder, mean H", "hand-crafted")
        folds = tuple(map(Folds.of, folds))
        request = Request((0.5,), 2, folds=folds, resamples=50, baselines=(), without=without)
        return probed(gscl_run, "ptbxl-super", ptbxl_root, request, out=out / str(len(folds)))

    return probe(*ROTATIONS), [probe(folds) for folds in ROTATIONS], out / "2"


def test_a_pooled_auc_is_the_mean_of_the_rotations(reports):
    pooled, alone, _ = reports
    for cell, *parts in zip(pooled.cells, *(each.cells for each in alone), strict=True):
        assert {part.method for part in parts} == {cell.method}
        assert cell.macro_auc.mean == pytest.approx(np.mean([part.macro_auc.mean for part in parts]))
        assert cell.interval.low <= cell.macro_auc.mean <= cell.interval.high
        support = [sum(score.support for score in each.classes) for each in (cell, *parts)]
        assert support[0] == support[1] + support[2]


def test_the_report_says_what_was_pooled(reports):
    pooled, alone, home = reports
    assert pooled.rotations == 2
    assert pooled.folds == "; ".join(each.folds for each in alone)
    assert pooled.records.test == sum(each.records.test for each in alone)
    assert pooled.task_sha256 not in {each.task_sha256 for each in alone}
    stored = predictions.load(home / "probe/ptbxl-super-strict.npz")
    assert np.bincount(stored.rotation_M).tolist() == [each.records.test for each in alone]
    assert set(compare(stored, stored)) == {0.5}
    assert predictions.load(home.with_name("1") / "probe/ptbxl-super-strict.npz").rotation_M is None


def test_records_are_resampled_within_their_rotation():
    seeds = [resampled_macro_auc(Y[rows], GOOD[:, rows], 30) for rows in HALVES]
    pooled = resampled_macro_auc(Y, GOOD, 30, ROTATION)
    assert macro_auc(Y, GOOD[0], ROTATION) == np.mean([macro_auc(Y[rows], GOOD[0][rows]) for rows in HALVES])
    # the second rotation has draws of its own: otherwise equal rotations would move together
    assert not np.allclose(pooled, np.mean(seeds, axis=0))
    halves = np.repeat([0, 1], 40)
    twice = resampled_macro_auc(Y[[*range(40)] * 2], GOOD[:, [*range(40)] * 2], 400, halves)
    once = resampled_macro_auc(Y[:40], GOOD[:, :40], 400)
    assert twice.std() == pytest.approx(once.std() / 2**0.5, rel=0.15)


def test_rotations_of_other_scales_are_not_ranked_together():
    shifted = GOOD + 100 * ROTATION[:, None]
    assert macro_auc(Y, shifted[0], ROTATION) == macro_auc(Y, GOOD[0], ROTATION)
    assert bootstrap(Y, shifted, BAD, ROTATION) == bootstrap(Y, GOOD, BAD, ROTATION)


def test_delongs_variance_adds_up_over_rotations():
    parts = [delong(Y[rows], GOOD[:, rows], BAD[:, rows]) for rows in HALVES]
    pooled = delong(Y, GOOD, BAD, ROTATION)
    assert pooled.mean == pytest.approx(np.mean([part.mean for part in parts]))
    half = [part.high - part.mean for part in parts]
    assert pooled.high - pooled.mean == pytest.approx((half[0] ** 2 + half[1] ** 2) ** 0.5 / 2)
