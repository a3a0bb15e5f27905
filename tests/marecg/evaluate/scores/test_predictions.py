import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from marecg.base.errors import InputError, UsageError
from marecg.evaluate.scores.metrics import macro_auc
from marecg.evaluate.scores.predictions import Predictions, compare, load, save, scarce
from marecg.evaluate.scores.summary import difference


def made(seed: int = 0, quality: float = 1.0) -> Predictions:
    y = (np.random.default_rng(0).random((60, 3)) < 0.4).astype(np.uint8)
    noise = np.random.default_rng(seed).normal(size=(2, 60, 3))
    ids = tuple(f"r{i}" for i in range(60))
    return Predictions(ids, ("CD", "MI", "STTC"), y, {("encoder", 0.1): quality * y + noise}, "encoder")


def test_what_is_saved_is_loaded_again(tmp_path):
    predictions = made()
    save(tmp_path / "p.npz", predictions)
    loaded = load(tmp_path / "p.npz")
    np.testing.assert_equal(
        loaded._asdict() if hasattr(loaded, "_asdict") else vars(loaded), vars(predictions)
    )


def test_two_runs_are_compared_on_the_same_records_and_both_tests_agree():
    good, bad = made(1, quality=2.0), made(2, quality=0.5)
    aucs = [np.mean([macro_auc(run.y_MK, x) for x in run.logits["encoder", 0.1]]) for run in (good, bad)]
    resampled, direct = (compare(good, bad, test)[0.1] for test in ("bootstrap", "delong"))
    for each in (resampled, direct):
        assert 0 < each.low < each.mean < each.high
        assert each.mean == pytest.approx(aucs[0] - aucs[1])
        assert each.p < 0.01
    assert resampled.high - resampled.low == pytest.approx(direct.high - direct.low, rel=0.2)


@pytest.mark.parametrize("test", ["bootstrap", "delong"])
def test_a_run_does_not_differ_from_itself(test):
    assert list(compare(made(), made(), test)[0.1].model_dump().values()) == [0, 0, 0, 1]


def test_p_counts_the_rarer_side_of_zero_twice_and_itself():
    """Of 99 resamples 4 are not above zero: 2 (1 + 4) / (1 + 99)."""
    resampled = np.concatenate([np.full(4, -0.01), np.full(95, 0.03)])
    for sign in (1, -1):
        result = difference(sign * 0.02, sign * resampled, np.zeros(99))
        assert result.p == pytest.approx(0.1)
        assert result.low <= result.mean <= result.high


def test_each_run_is_represented_by_what_it_is_about():
    encoder, other = made(1, quality=2.0), made(2)
    renamed = replace(other, logits={("ECG-FM", 0.1): other.logits["encoder", 0.1]}, reference="ECG-FM")
    assert compare(encoder, renamed) == compare(encoder, other)


def test_runs_on_other_records_labels_or_fractions_are_not_compared():
    one = made()
    flipped_MK = one.y_MK ^ (np.arange(180) == 0).reshape(60, 3)
    for other in ({"y_MK": flipped_MK}, {"classes": one.classes[::-1]}, {"ids": one.ids[::-1]}):
        with pytest.raises(UsageError, match="different test records or labels"):
            compare(one, replace(one, **other))
    with pytest.raises(UsageError, match="no fraction in common"):
        compare(one, replace(one, logits={("encoder", 1.0): one.logits["encoder", 0.1]}))


def test_damaged_predictions_are_named(tmp_path):
    (tmp_path / "p.npz").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"p\.npz"):
        load(tmp_path / "p.npz")


def test_of_a_task_that_was_not_probed_it_is_said_which_ones_were(tmp_path):
    save(tmp_path / "run/probe/fast-strict.npz", made())
    with pytest.raises(InputError, match=r"run: has no probe slow-strict\. Name the task.* of fast-strict"):
        load(tmp_path / "run/probe/slow-strict.npz")
    with pytest.raises(InputError, match=r"has no probe slow-strict\. Probe it first"):
        load(tmp_path / "other/probe/slow-strict.npz")


def test_classes_with_few_positives_or_few_negatives_are_named_and_those_without_any_are_not():
    y = np.zeros((30, 4), np.uint8)
    y[:9, 0] = y[:10, 1] = y[:28, 2] = 1
    classes = ("few", "enough", "rarely not", "never")
    predictions = Predictions(tuple(map(str, range(30))), classes, y, {}, "encoder")
    assert scarce(predictions) == {"few": 9, "rarely not": 2}


def test_the_example_on_the_page_runs(tmp_path, monkeypatch):
    page = Path(__file__).parents[4] / "docs/evaluation/index.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    predictions = replace(made(), logits={("encoder", 1.0): made().logits["encoder", 0.1]})
    save(tmp_path / "runs/c3/probe/ptbxl-super-strict.npz", predictions)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(code, names)  # noqa: S102 (our own page)
    assert names["logits"].shape == (2, 60, 3)
