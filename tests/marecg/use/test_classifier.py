"""`EcgClassifier`: what is trained, what stays, and what comes back from a folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from sklearn.base import clone
from torch.nn.functional import cross_entropy

from marecg import EcgClassifier
from marecg.config import ModelConfig
from marecg.ecg.windows import Recording, Window, recording, stacked, windows
from marecg.errors import CheckpointError, UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.recipes import Config
from marecg.use import classifier as module
from marecg.use import tuning
from marecg.use.tuning import Classifier, Tuned, Tuning, tune

RECORDS = 24


@pytest.fixture(scope="module")
def model(micro: Config) -> MarEcg:
    torch.manual_seed(0)
    return MarEcg(micro.model.model_copy(update={"depth": 2})).eval()


@pytest.fixture(scope="module")
def signals() -> NDArray[np.float64]:
    """Slow waves in the first half, fast ones in the second; longer than the encoder's context."""
    time = np.arange(4000) / 500
    noise = np.random.default_rng(0).normal(0, 0.05, (RECORDS, 2, 4000))
    waves = [np.sin(2 * np.pi * (1 if row < RECORDS // 2 else 12) * time) for row in range(RECORDS)]
    return noise + np.array(waves)[:, None]


LABELS = np.array(["slow"] * (RECORDS // 2) + ["fast"] * (RECORDS // 2))


def classifier(model: MarEcg, layers: str = "all", **values: float) -> EcgClassifier:
    return EcgClassifier(model, layers, leads=("I", "V2"), **{"epochs": 4, "batch_size": 8, **values})


@pytest.fixture(scope="module")
def fitted(model: MarEcg, signals: NDArray[np.float64]) -> EcgClassifier:
    return classifier(model, lr=5e-3, epochs=8).fit(signals, LABELS)


def test_it_learns_what_can_be_told(fitted: EcgClassifier, signals: NDArray[np.float64]) -> None:
    assert fitted.classes_.tolist() == ["fast", "slow"]
    probability = fitted.predict_proba(signals)
    np.testing.assert_allclose(probability.sum(1), 1)
    assert fitted.score(signals, LABELS) > 0.9


def test_it_comes_back_from_its_folder(
    fitted: EcgClassifier, signals: NDArray[np.float64], tmp_path: Path
) -> None:
    fitted.save(tmp_path / "kept")
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [
        "classifier.json",
        "head.safetensors",
        "model",
    ]
    back = EcgClassifier.load(tmp_path / "kept")
    np.testing.assert_allclose(back.predict_proba(signals), fitted.predict_proba(signals), rtol=1e-5)
    assert back.predict(signals).tolist() == fitted.predict(signals).tolist()
    assert MarEcg.from_pretrained(tmp_path / "kept" / "model").config == back._net.model.config


@pytest.mark.parametrize(
    ("layers", "trained"),
    [
        ("head", set()),
        ("last:1", {"pool", "encoder.norm", "encoder.blocks.1"}),
        ("all", {"pool", "encoder.norm", "encoder.blocks.1", "encoder.blocks.0", "tokens"}),
    ],
)
def test_only_the_layers_that_are_asked_for_move(
    layers: str, trained: set[str], model: MarEcg, signals: NDArray[np.float64]
) -> None:
    before = {name: value.clone() for name, value in model.state_dict().items()}
    found = classifier(model, layers, epochs=1).fit(signals, LABELS)
    moved = {name for name, value in found._net.model.state_dict().items() if not value.equal(before[name])}
    assert all(any(name.startswith(part) for part in trained) for name in moved)
    assert {part for part in trained if any(name.startswith(part) for name in moved)} == trained
    assert all(value.equal(before[name]) for name, value in model.state_dict().items())


def test_a_block_learns_slower_than_the_one_above_it(model: MarEcg) -> None:
    from marecg.use.tuning import Classifier, _groups

    rates = [group["lr"] for group in _groups(Classifier(model, 2), Tuning("all", lr=1.0, decay=0.5))][::2]
    assert rates == [1.0, 0.5, 0.25, 0.125]
    model.requires_grad_(True)


def test_a_table_of_labels_gives_a_probability_for_each(model: MarEcg, signals: NDArray[np.float64]) -> None:
    table = np.stack([LABELS == "slow", np.ones(RECORDS), LABELS == "fast"], 1).astype(int)
    found = classifier(model, "head", epochs=1).fit(signals, table)
    assert found.predict_proba(signals).shape == (RECORDS, 3)
    assert set(np.unique(found.predict(signals))) <= {0, 1}


def test_the_same_seed_gives_the_same_classifier(model: MarEcg, signals: NDArray[np.float64]) -> None:
    one, same, other = (
        classifier(model, "head", epochs=1, seed=seed).fit(signals, LABELS).predict_proba(signals)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_table_and_another_rate_come_back_from_their_folder(
    model: MarEcg, signals: NDArray[np.float64], tmp_path: Path
) -> None:
    table = np.stack([LABELS == "slow", np.ones(RECORDS), LABELS == "fast"], 1).astype(int)
    found = EcgClassifier(model, "head", fs=400, leads=("I", "V2"), epochs=1).fit(signals, table)
    found.save(tmp_path / "kept")
    back = EcgClassifier.load(tmp_path / "kept")
    assert (back.fs, back.leads) == (400, ["I", "V2"])
    np.testing.assert_allclose(back.predict_proba(signals), found.predict_proba(signals), rtol=1e-5)
    assert back.predict(signals).shape == (RECORDS, 3)


def test_a_fifth_of_the_records_judges_and_is_not_trained_on(
    model: MarEcg, signals: NDArray[np.float64], monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[Sequence[int]] = []
    monkeypatch.setattr(module, "logits", lambda net, fetch, rows, size: judged.append(rows) or np.eye(5, 2))

    def tuned(*given: Any) -> Tuned:
        rows_M, target_M, score = given[4], given[5], given[7]
        score(None)
        assert not set(rows_M) & set(judged[0])
        assert sorted([*rows_M, *judged[0]]) == list(range(RECORDS))
        assert target_M.tolist() == [int(LABELS[row] == "slow") for row in rows_M]
        return Tuned(Classifier(model, 2), 1, 0.0)

    monkeypatch.setattr(module, "tune", tuned)
    classifier(model).fit(signals, LABELS)
    assert len(judged[0]) == 5


def cut(model: MarEcg, signals: NDArray[np.float64]) -> list[Recording]:
    return [recording(x_KL, 500, ("I", "V2"), model.config) for x_KL in signals]


def test_the_epoch_that_scores_best_is_kept_and_patience_ends_the_rest(
    model: MarEcg, signals: NDArray[np.float64]
) -> None:
    """Two epochs without a gain are waited for after the second, which was the best."""
    held, weights = cut(model, signals), []
    scores = iter([1.0, 2.0, 0.0, 1.5, 9.0])

    def score(net: Classifier) -> float:
        weights.append(net.head.weight.detach().clone())
        return next(scores)

    how = Tuning(epochs=5, batch_size=8, patience=2)
    targets = torch.arange(RECORDS) % 2
    found = tune(model, 2, how, held.__getitem__, range(RECORDS), targets, cross_entropy, score)
    assert (found.epoch, found.score, len(weights)) == (2, 2.0, 4)
    assert torch.equal(found.net.head.weight, weights[1])
    assert not torch.equal(weights[1], weights[3])


def test_all_of_a_long_recording_is_trained_on_and_judged_by_the_mean_over_it(
    model: MarEcg, signals: NDArray[np.float64], monkeypatch: pytest.MonkeyPatch
) -> None:
    held, seen = cut(model, signals[:2]), set()

    def noted(chosen: Sequence[Window], config: ModelConfig, device: torch.device) -> Any:
        seen.update(window.start for window in chosen)
        return stacked(chosen, config, device)

    monkeypatch.setattr(tuning, "stacked", noted)
    how = Tuning(epochs=8, patience=9)
    found = tune(
        model, 2, how, held.__getitem__, [0, 1], torch.tensor([0, 1]), cross_entropy, lambda net: 0.0
    )
    each = [windows(whole, model.config) for whole in held]
    assert seen == {window.start for window in each[0]}
    assert len(seen) == 2
    with torch.no_grad():
        expected = [found.net(*stacked(shown, model.config)).double().mean(0) for shown in each]
    for size in (1, 3, 8):
        logits_MK = tuning.logits(found.net, held.__getitem__, [0, 1], size)
        np.testing.assert_allclose(logits_MK, torch.stack(expected).numpy(), rtol=1e-4, atol=1e-6)


def test_it_can_be_cloned_and_set(model: MarEcg) -> None:
    again = clone(EcgClassifier("run", "last:2", lr=0.1))
    assert again.get_params()["layers"] == "last:2"
    assert again.set_params(layers="all").layers == "all"


@pytest.mark.parametrize(
    ("layers", "labels", "problem"),
    [
        ("last:0", LABELS, "no layers 'last:0'"),
        ("tail", LABELS, "no layers 'tail'"),
        ("head", LABELS[:3], "3 labels for 24 records"),
        ("head", ["slow"] * RECORDS, "all records have one label"),
        ("head", np.linspace(0, 1, RECORDS), "Give classes"),
        ("head", np.full((RECORDS, 2), 3), "more than 0 and 1"),
        ("head", np.zeros((RECORDS, 0)), "has no classes"),
        ("head", [[0, 1], [1]] * (RECORDS // 2), "rows of several lengths"),
        ("head", ["slow", None] * (RECORDS // 2), "of several kinds"),
        ("head", "slow", "0 labels for 24 records"),
    ],
)
def test_what_cannot_be_fitted_is_one_clear_error(
    layers: str, labels: NDArray[np.str_], problem: str, model: MarEcg, signals: NDArray[np.float64]
) -> None:
    with pytest.raises(UsageError, match=problem):
        classifier(model, layers).fit(signals, labels)


@pytest.mark.parametrize(
    "values",
    [
        {"batch_size": 2.5},
        {"batch_size": "4"},
        {"lr": None},
        {"lr": float("inf")},
        {"epochs": 1.5},
        {"seed": -1},
    ],
)
def test_a_value_that_cannot_be_is_one_clear_error(model: MarEcg, values: dict[str, Any]) -> None:
    (name,) = values
    with pytest.raises(UsageError, match=f"{name} is "):
        classifier(model, "head", **values).fit(np.zeros((2, 2, 1000)), [0, 1])
    assert Tuning("head", np.int64(3), np.int64(8), np.float32(0.1)).epochs == 3, "as a grid of numpy's gives"


def test_one_record_is_no_training(model: MarEcg, signals: NDArray[np.float64]) -> None:
    with pytest.raises(UsageError, match="one record is no training"):
        classifier(model, "head").fit(signals[:1], [[0, 1]])


def test_a_damaged_folder_is_refused(fitted: EcgClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "kept")
    head = load_file(tmp_path / "kept" / "head.safetensors")
    save_file({name: value[:1] for name, value in head.items()}, tmp_path / "kept" / "head.safetensors")
    with pytest.raises(CheckpointError, match="does not fit"):
        EcgClassifier.load(tmp_path / "kept")
    (tmp_path / "kept" / "classifier.json").write_text("{")
    with pytest.raises(CheckpointError, match="is no classifier"):
        EcgClassifier.load(tmp_path / "kept")
