from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.marecg.evaluate.made_tasks import trials_on

from marecg.errors import InputError
from marecg.evaluate.probe import protocol
from marecg.evaluate.probe.linear import choose_logistic
from marecg.evaluate.probe.protocol import STRICT, draw
from marecg.evaluate.scores.metrics import class_auc
from marecg.evaluate.tasks.task import TEST, TRAIN, VAL


def labels(records: int, seed: int = 0) -> np.ndarray:
    """Four classes of 50, 20, 10 and 3 percent."""
    return (np.random.default_rng(seed).random((records, 4)) < (0.5, 0.2, 0.1, 0.03)).astype(np.uint8)


def split(train: int, val: int, test: int) -> np.ndarray:
    return np.repeat([TRAIN, VAL, TEST], [train, val, test])


def test_a_draw_has_the_asked_size_and_every_record_at_most_once_and_repeats_under_its_seed():
    rows, same, other = (draw(labels(1000), 0.1, seed).tolist() for seed in (1, 1, 2))
    assert len(rows) == len(set(rows)) == 100
    assert rows == same != other
    assert draw(labels(50), 1.0, seed=3).tolist() == list(range(50)), "the whole is everything"


def test_every_record_is_as_likely_as_any_other():
    y = labels(60)
    drawn = np.bincount(np.concatenate([draw(y, 0.25, seed) for seed in range(2000)]), minlength=60)
    assert abs(drawn / 2000 - 0.25).max() < 0.05


def test_a_draw_keeps_the_share_of_every_class_closer_than_chance_does():
    y = labels(2000, seed=1)
    drawn = [draw(y, 0.1, seed) for seed in range(20)]
    plain = [np.random.default_rng(seed).choice(2000, 200, replace=False) for seed in range(20)]
    off, by_chance = (
        [abs(y[rows].sum(0) - 0.1 * y.sum(0)).max() for rows in each] for each in (drawn, plain)
    )
    assert max(off) <= 3 < np.mean(by_chance)


@given(st.integers(1, 300), st.floats(0.01, 1), st.integers(0, 5))
def test_the_rarest_class_gets_its_share_to_within_one_record(records, fraction, seed):
    y = labels(records, seed)
    rows = draw(y, fraction, seed)
    assert len(rows) == max(1, round(fraction * records))
    rarest = np.argmin(y.sum(0)[::-1])
    share = len(rows) / records
    assert abs(y[rows][:, ::-1][:, rarest].sum() - share * y[:, ::-1][:, rarest].sum()) < 1 + 1e-9


def test_shares_below_one_are_drawn_per_seed_and_the_whole_is_probed_once():
    x, y = np.random.default_rng(0).normal(size=(160, 3)), labels(160)
    trials = trials_on(STRICT, x, y, split(100, 30, 30), (0.2, 1.0), seeds=3)
    drawn = [(trial.fraction, trial.seed, len(trial.train)) for trial in trials]
    assert drawn == [(0.2, 0, 20), (0.2, 1, 20), (0.2, 2, 20), (1.0, 0, 100)]
    assert all(trial.logits_MK.shape == (30, 4) for trial in trials)


def test_test_labels_and_test_features_cannot_influence_what_is_fitted():
    x, y = np.random.default_rng(1).normal(size=(160, 3)), labels(160)
    other_y = y.copy()
    other_y[130:] = 1 - other_y[130:]
    parts = split(100, 30, 30)
    one, another = (trials_on(STRICT, x, labelled, parts, (0.3,), 2) for labelled in (y, other_y))
    for trial, other in zip(one, another, strict=True):
        assert trial.chosen == other.chosen
        np.testing.assert_array_equal(trial.logits_MK, other.logits_MK)


def test_the_test_part_is_opened_after_the_choice_and_once_per_trial():
    events: list[str] = []

    def choose(train, val):
        events.append("choose")
        fitted = choose_logistic(train, val)

        def logits(x_MF):
            events.append("score")
            return fitted.logits(x_MF)

        return replace(fitted, logits=logits)

    x, y = np.random.default_rng(2).normal(size=(160, 3)), labels(160)
    trials_on(STRICT, x, y, split(100, 30, 30), (0.5, 1.0), seeds=2, choose=choose)
    assert events == ["choose", "score"] * 3
    fitted = protocol.Fitted(1.0, 1.0, (), lambda rows: np.zeros((len(rows), 2)))
    test = protocol.SealedTest(np.arange(10))
    assert test.score(fitted).shape == (10, 2)
    with pytest.raises(AssertionError, match="already scored"):
        test.score(fitted)


def test_a_task_without_test_records_is_refused():
    with pytest.raises(InputError, match="no test records"):
        trials_on(STRICT, np.zeros((4, 1)), labels(4), split(2, 2, 0), (1.0,), 1)


def test_what_a_classifier_says_of_a_class_that_it_never_saw_does_not_count():
    """It knows every answer, also to what the training records don't show."""
    boaster = SimpleNamespace(chosen=1.0, val_auc=1.0, untrained=(3,), logits=np.copy)
    y, choose = labels(160), lambda *_: boaster
    (trial,) = trials_on(STRICT, y.astype(float), y, split(100, 30, 30), (1.0,), 1, choose)
    assert class_auc(y[130:], trial.logits_MK).tolist() == [1, 1, 1, 0.5]
