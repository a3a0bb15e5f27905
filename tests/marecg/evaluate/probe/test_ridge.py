import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from marecg.base.errors import InputError
from marecg.evaluate.probe.linear import ALPHAS, Part, choose_ridge
from marecg.evaluate.scores.metrics import macro_auc


def part(records: int, seed: int, features: int) -> Part:
    generator = np.random.default_rng(seed)
    x_MF = generator.normal(2, 3, (records, features)).astype(np.float32)
    return Part(x_MF, (x_MF[:, :2] + generator.normal(0, 3, (records, 2)) > 2).astype(np.uint8))


@pytest.mark.parametrize("features", [4, 50])
def test_it_is_scikit_learns_ridge_at_the_alpha_that_is_best_on_val(features):
    train, val, test = part(40, 0, features), part(30, 1, features), part(10, 2, features)
    scaler = StandardScaler().fit(train.x_MF.astype(float))
    x = {
        name: scaler.transform(p.x_MF.astype(float))
        for name, p in [("train", train), ("val", val), ("test", test)]
    }
    fits = [Ridge(alpha).fit(x["train"], 2.0 * train.y_MK - 1) for alpha in ALPHAS]
    aucs = [macro_auc(val.y_MK, fit.predict(x["val"])) for fit in fits]
    probe = choose_ridge(train, val)
    best = ALPHAS.index(probe.chosen)
    assert probe.val_auc == pytest.approx(max(aucs)) == pytest.approx(aucs[best])
    np.testing.assert_allclose(probe.logits(test.x_MF), fits[best].predict(x["test"]), atol=1e-8)


def test_a_class_that_train_does_not_show_scores_all_records_alike():
    train = part(20, 3, 4)
    train.y_MK[:, 0] = 0
    probe = choose_ridge(train, part(20, 4, 4))
    assert probe.untrained == (0,)
    assert np.ptp(probe.logits(part(5, 5, 4).x_MF)[:, 0]) == 0


def test_val_records_that_tell_no_classes_apart_are_refused():
    with pytest.raises(InputError, match="none of the 2 validation records"):
        choose_ridge(part(20, 6, 4), Part(np.zeros((2, 4)), np.ones((2, 2), np.uint8)))
