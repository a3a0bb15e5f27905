"""`EcgClassifier`: what is trained, what stays, and what comes back from a folder."""

import itertools
import json
import os
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from sklearn.base import clone

from marecg import EcgClassifier
from marecg.classify import classifier as module
from marecg.classify import tuning
from marecg.classify.classifier_folder import is_classifier
from marecg.classify.logistic import weighted_loss
from marecg.classify.tuning import Tuned, Tuning, Vectors, tune
from marecg.errors import CheckpointError, UsageError
from marecg.model.classifier import Classifier
from marecg.model.mar_ecg import MarEcg
from marecg.model.windows import recording, stacked, tta_windows
from marecg.objectives import augment

RECORDS = 24
LABELS = np.array(["slow"] * (RECORDS // 2) + ["fast"] * (RECORDS // 2))
EVEN, ODD = range(0, RECORDS, 2), range(1, RECORDS, 2)


@pytest.fixture(scope="module")
def model(micro) -> MarEcg:
    torch.manual_seed(0)
    return MarEcg(micro.model.model_copy(update={"depth": 2})).eval()


@pytest.fixture(scope="module")
def signals() -> NDArray[np.float64]:
    """Slow waves in the first half, fast ones in the second; longer than the encoder's context."""
    time = np.arange(4000) / 500
    noise = np.random.default_rng(0).normal(0, 0.05, (RECORDS, 2, 4000))
    waves = [np.sin(2 * np.pi * (1 if row < RECORDS // 2 else 12) * time) for row in range(RECORDS)]
    return noise + np.array(waves)[:, None]


def classifier(model: MarEcg, layers: str = "all", **values: float) -> EcgClassifier:
    return EcgClassifier(model, layers, fs=500, leads=("I", "V2"), **{"steps": 12, "batch_size": 8, **values})


@pytest.fixture(scope="module")
def fitted(model, signals) -> EcgClassifier:
    return classifier(model, lr=5e-3).fit(signals, LABELS)


def test_it_learns_to_tell_slow_waves_from_fast_ones(fitted, signals):
    assert fitted.classes_.tolist() == ["fast", "slow"]
    probability = fitted.predict_proba(signals)
    np.testing.assert_allclose(probability.sum(1), 1)
    assert fitted.score(signals, LABELS) > 0.9


def test_it_comes_back_from_its_folder(fitted, signals, tmp_path):
    fitted.save(tmp_path / "clf")
    names = {path.name for path in (tmp_path / "clf").iterdir()}
    assert names == {"classifier.json", "head.safetensors", "model"}
    back = EcgClassifier.load(tmp_path / "clf")
    np.testing.assert_allclose(back.predict_proba(signals), fitted.predict_proba(signals), rtol=1e-5)
    assert back.predict(signals).tolist() == fitted.predict(signals).tolist()
    assert MarEcg.from_pretrained(tmp_path / "clf" / "model").config == back.encoder.config


@pytest.mark.parametrize(
    ("layers", "trained"),
    [
        ("head", set()),
        ("last:1", {"pool", "encoder.norm", "encoder.blocks.1"}),
        ("all", {"pool", "encoder.norm", "encoder.blocks.1", "encoder.blocks.0", "tokens"}),
    ],
)
def test_only_the_layers_that_are_asked_for_move(layers, trained, model, signals, monkeypatch):
    losses = itertools.count(9.0, -1.0)
    monkeypatch.setattr(tuning, "calibrated_loss", lambda *_: next(losses))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    fitted = classifier(model, layers, lr=1e-2, steps=3).fit(signals, LABELS)
    moved = {name for name, value in fitted.encoder.state_dict().items() if not value.equal(before[name])}
    assert all(any(name.startswith(part) for part in trained) for name in moved)
    assert {part for part in trained if any(name.startswith(part) for name in moved)} == trained
    assert all(value.equal(before[name]) for name, value in model.state_dict().items())


def test_a_block_learns_slower_than_the_one_above_it(model):
    groups = tuning._groups(Classifier(model, 2), Tuning("all", lr=1.0, decay=0.5))
    assert [group["lr"] for group in groups][::2] == [0.1, 1.0, 0.5, 0.25, 0.125]
    model.requires_grad_(True)


def test_the_same_seed_gives_the_same_classifier(model, signals):
    fitted = (classifier(model, "head", seed=seed).fit(signals, LABELS) for seed in (1, 1, 2))
    one, same, other = (each.predict_proba(signals) for each in fitted)
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_table_of_labels_gives_a_probability_for_each_and_comes_back(model, signals, tmp_path):
    table = np.stack([LABELS == "slow", np.ones(RECORDS), LABELS == "fast"], 1).astype(int)
    with pytest.warns(UserWarning, match="every record has class 1, so its probability is always 1"):
        fitted = EcgClassifier(model, "head", fs=400, leads=("I", "V2"), steps=1).fit(signals, table)
    fitted.save(tmp_path / "clf")
    back = EcgClassifier.load(tmp_path / "clf")
    assert (back.fs, back.leads) == (400, ["I", "V2"])
    np.testing.assert_allclose(back.predict_proba(signals), fitted.predict_proba(signals), rtol=1e-5)
    assert back.predict_proba(signals).shape == back.predict(signals).shape == (RECORDS, 3)
    assert set(np.unique(back.predict(signals))) <= {0, 1}


def test_a_fifth_of_the_patients_judges_and_is_not_trained_on(model, signals, monkeypatch):
    patients, splits = np.arange(RECORDS) // 2, []

    def noted(how, vectors, y_MK, train, val, *rest):
        splits.extend((train, val))
        np.testing.assert_array_equal(y_MK[:, 1], LABELS[[*train, *val]] == "slow")
        return tune(how, vectors, y_MK, train, val, *rest)

    monkeypatch.setattr(module, "tune", noted)
    classifier(model, "head").fit(signals, LABELS, groups=patients)
    train, val = splits
    assert sorted([*train, *val]) == list(range(RECORDS))
    assert not {patients[row] for row in train} & {patients[row] for row in val}
    assert len({patients[row] for row in val}) == 3


@pytest.fixture(scope="module")
def vectors(model, signals) -> Vectors:
    whole = [recording(x_KL, 500, ("I", "V2"), model.config) for x_KL in signals]
    return Vectors(model, whole.__getitem__)


def tuned(vectors: Vectors, layers: str, train=EVEN, val=ODD, **values) -> Tuned:
    labels_BK = np.eye(2)[(LABELS[[*train, *val]] == "slow").astype(int)]
    return tune(Tuning(layers, **values), vectors, labels_BK, train, val)


def test_the_step_with_the_least_loss_is_kept_and_patience_ends_the_rest(vectors, monkeypatch):
    """Two steps without a gain are waited for after the second, which was the best; the head was worse."""
    losses = iter([3.0, 2.5, 2.0, 4.0, 2.2, 0.1])
    monkeypatch.setattr(tuning, "calibrated_loss", lambda *_: next(losses))
    best = tuned(vectors, "all", steps=5, batch_size=8, patience=2, look=1)
    assert (best.step, best.loss, next(losses)) == (2, 2.0, 0.1)


def test_what_is_judged_and_kept_is_half_way_to_the_average_of_the_weights(vectors, monkeypatch):
    """After one step the average stands 1 / 11 of the way back to where the step began; then half of that."""
    losses = itertools.count(9.0, -1.0)
    monkeypatch.setattr(tuning, "calibrated_loss", lambda *_: next(losses))
    before = tuned(vectors, "head").net.head.bias
    moves = []
    for average, half_way in ((0.0, 1.0), (0.98, 0.5)):
        monkeypatch.setattr(tuning, "AVERAGE", average)
        monkeypatch.setattr(tuning, "HALF_WAY", half_way)
        moves.append(tuned(vectors, "all", steps=1, lr=0.1).net.head.bias - before)
    torch.testing.assert_close(moves[1], moves[0] * 5 / 11)


def test_every_window_is_augmented_anew(vectors, monkeypatch):
    augmented = []

    def noted(x_BCL, *others):
        augmented.append(augment.rhythm_safe(x_BCL, *others))
        return augmented[-1]

    monkeypatch.setattr(tuning, "rhythm_safe", noted)
    tuned(vectors, "all", [0, 23], [1, 22], steps=2)
    assert len(augmented) == 2
    assert not torch.equal(*augmented)


def test_overconfidence_that_calibration_mends_costs_nothing():
    """Logits that are twice too large lose nothing; logits of the wrong sign do."""
    y_MK, weight_MK = np.array([[1.0], [1.0], [1.0], [0.0]]), np.ones((4, 1))
    true_MK = np.full((4, 1), np.log(3))
    best = weighted_loss(true_MK, y_MK, weight_MK)
    assert tuning.calibrated_loss(2 * true_MK, y_MK, weight_MK) == pytest.approx(best)
    assert tuning.calibrated_loss(-true_MK, y_MK, weight_MK) > best


@pytest.mark.parametrize("seed", [0, pytest.param(5, marks=pytest.mark.nightly)])
def test_the_readout_that_can_be_exported_is_chosen_unless_a_longer_one_is_clearly_better(
    seed, model, signals
):
    """Labels drawn at random can't be learnt from any readout."""
    labels = np.random.default_rng(seed).permutation(LABELS)
    drawn = classifier(model, "head", readout="best", seed=seed).fit(signals, labels)
    assert drawn.readout_ == "wide"


def test_fine_tuning_that_gains_nothing_leaves_the_head_of_the_frozen_encoder(vectors):
    head = tuned(vectors, "head")
    fine = tuned(vectors, "all", steps=1, lr=1.0)
    assert fine.step == 0
    np.testing.assert_allclose(fine.logits(vectors, ODD), head.logits(vectors, ODD), rtol=1e-3, atol=1e-4)


def test_every_step_reads_a_batch_and_every_record_comes_before_any_comes_again():
    batches = list(tuning._batches(Tuning(steps=6, batch_size=4), 10))
    assert [len(batch) for batch in batches] == [4] * 6
    assert sorted(np.concatenate(batches)[:10]) == list(range(10))
    assert len(next(tuning._batches(Tuning(steps=1, batch_size=32), 10))) == 10


def test_all_beginnings_are_trained_on_and_a_record_is_judged_by_their_mean(model, vectors, monkeypatch):
    starts = set()

    def noted(chosen, config, device):
        starts.update(window.start for window in chosen)
        return stacked(chosen, config, device)

    windows = [list(tta_windows(vectors.fetch(row), model.config)) for row in (0, 23)]
    head = tuned(vectors, "head", [0, 23], [1, 22])
    monkeypatch.setattr(tuning, "stacked", noted)
    tuned(vectors, "all", [0, 23], [1, 22], steps=30)
    assert starts == {window.start for window in windows[0]}
    with torch.no_grad():
        expected = [head.net.of_windows(*stacked(each, model.config)).double().mean(0) for each in windows]
    logits_MK = replace(head, frozen=False).logits(vectors, [0, 23])
    np.testing.assert_allclose(logits_MK, torch.stack(expected).numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(head.logits(vectors, [0, 23]), logits_MK, rtol=1e-3, atol=1e-4)


def test_labels_that_nobody_knows_change_nothing(model, signals):
    """The second class is as the first, but unknown of half of the records, whatever it would be there."""
    y_BK = np.repeat((LABELS == "slow")[:, None].astype(float), 2, axis=1)
    y_BK[::2, 1] = np.nan
    p_BK = classifier(model, "head").fit(signals, y_BK).predict_proba(signals)
    assert np.isfinite(p_BK).all()
    assert ((p_BK[:, 1] > 0.5) == (LABELS == "slow")).mean() > 0.9


def test_it_can_be_cloned_and_set():
    again = clone(EcgClassifier("run", "last:2", lr=0.1))
    assert again.get_params()["layers"] == "last:2"
    assert again.set_params(layers="all").layers == "all"


@pytest.mark.parametrize(
    ("values", "labels", "problem"),
    [
        ({"layers": "last:0"}, LABELS, "unknown layers 'last:0'"),
        ({"layers": "tail"}, LABELS, "unknown layers 'tail'"),
        ({"layers": "all", "readout": "beats"}, LABELS, "readout 'beats' requires layers='head'"),
        ({"layers": "last:1", "readout": "full"}, LABELS, "readout 'full' requires layers='head'"),
        ({"readout": "rhythm"}, LABELS, "readout must be .*, got 'rhythm'"),
        *(({"batch_size": size}, LABELS, "batch_size must be a whole number above 0") for size in (2.5, "4")),
        *(({"lr": rate}, LABELS, "lr must be a number above 0") for rate in (None, float("inf"))),
        ({"steps": 1.5}, LABELS, "steps must be a whole number above 0"),
        ({"seed": -1}, LABELS, "seed must be a whole number from 0"),
        ({}, LABELS[:3], "3 labels for 24 records"),
        ({}, ["slow"] * RECORDS, "labels must have at least 2 classes, got 1"),
        ({}, np.linspace(0, 1, RECORDS), "labels must be one class per record"),
        ({}, np.full((RECORDS, 2), 3), "only 0, 1 and NaN"),
        ({}, np.zeros((RECORDS, 0)), "one column per class, got none"),
        ({}, [[0, 1], [1]] * (RECORDS // 2), "rows of equal length"),
        ({}, ["slow", None] * (RECORDS // 2), "must be either all strings or all integers"),
        ({}, "slow", "0 labels for 24 records"),
    ],
)
def test_what_cannot_be_fitted_is_one_clear_error(values, labels, problem, model, signals):
    with pytest.raises(UsageError, match=problem):
        classifier(model, **{"layers": "head"} | values).fit(signals, labels)


def test_numbers_may_be_numpys_as_a_grid_gives_them():
    assert Tuning("head", np.int64(3), np.int64(8), np.float32(0.1)).steps == 3


def test_one_record_is_no_training(model, signals):
    with pytest.raises(UsageError, match="training needs at least 2 records, got 1"):
        classifier(model, "head").fit(signals[:1], [[0, 1]])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 2.0])
def test_a_threshold_that_is_no_probability_is_refused(fitted, tmp_path, value):
    fitted.save(tmp_path / "clf")
    description = json.loads((tmp_path / "clf" / "classifier.json").read_text())
    description["thresholds"][0] = value
    (tmp_path / "clf" / "classifier.json").write_text(json.dumps(description))
    with pytest.raises(CheckpointError, match=r"isn't a classifier of this version \(thresholds.0\)"):
        EcgClassifier.load(tmp_path / "clf")


def test_a_head_that_is_not_finite_is_refused(fitted, tmp_path):
    fitted.save(tmp_path / "clf")
    head = tmp_path / "clf" / "head.safetensors"
    save_file({name: value * float("nan") for name, value in load_file(head).items()}, head)
    with pytest.raises(CheckpointError, match=r"head\.safetensors: is damaged .*SHA-256"):
        EcgClassifier.load(tmp_path / "clf")
    mark = tmp_path / "clf" / "classifier.json"
    mark.write_text(json.dumps(json.loads(mark.read_text()) | {"weights": None}))
    with pytest.raises(CheckpointError, match=r"head\.safetensors: .* must be finite, got nan"):
        EcgClassifier.load(tmp_path / "clf")


@pytest.mark.parametrize("file", ["classifier.json", "head.safetensors"])
def test_a_pipe_in_a_classifier_s_folder_is_refused_and_not_waited_for(fitted, tmp_path, file):
    fitted.save(tmp_path / "clf")
    (tmp_path / "clf" / file).unlink()
    os.mkfifo(tmp_path / "clf" / file)
    assert is_classifier(tmp_path / "clf")
    with pytest.raises(CheckpointError, match=rf"{file}: isn't a file\. .*[Gg]ive a folder"):
        EcgClassifier.load(tmp_path / "clf")


def test_a_damaged_folder_is_refused(fitted, tmp_path):
    fitted.save(tmp_path / "clf")
    head = tmp_path / "clf" / "head.safetensors"
    save_file({name: value[:1] for name, value in load_file(head).items()}, head)
    with pytest.raises(CheckpointError, match=r"head\.\w+ must be F32 \[2.*\], got F32 \[1"):
        EcgClassifier.load(tmp_path / "clf")
    faults = {
        '{"format": 2}': "format, classes, several",
        "{": "Invalid JSON.*",
        "[]": "Input should be an object",
    }
    for text, fault in faults.items():
        (tmp_path / "clf" / "classifier.json").write_text(text)
        with pytest.raises(CheckpointError, match=rf"isn't a classifier of this version \({fault}\)"):
            EcgClassifier.load(tmp_path / "clf")


def test_a_flipped_bit_of_the_head_is_refused(fitted, tmp_path):
    fitted.save(tmp_path / "clf")
    head = tmp_path / "clf" / "head.safetensors"
    content = bytearray(head.read_bytes())
    content[-2] ^= 1
    head.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"head\.safetensors: is damaged .*SHA-256"):
        EcgClassifier.load(tmp_path / "clf")
    mark = tmp_path / "clf" / "classifier.json"
    mark.write_text(json.dumps(json.loads(mark.read_text()) | {"weights": None}))
    EcgClassifier.load(tmp_path / "clf")


def test_a_class_that_all_records_or_none_have_is_predicted_so_with_a_warning(model, signals, tmp_path):
    y_BK = np.stack([LABELS == "slow", LABELS == "nobody", LABELS != "nobody"], 1).astype(int)
    with pytest.warns(UserWarning, match="its probability is always") as warned:
        fitted = classifier(model, "head", steps=2).fit(signals, y_BK)
    assert len([one for one in warned if "its probability is always" in str(one.message)]) == 2
    fitted.save(tmp_path / "clf")
    for each in (fitted, EcgClassifier.load(tmp_path / "clf")):
        assert each.predict(signals)[:, 1:].tolist() == [[0, 1]] * RECORDS
        assert each.predict_proba(signals)[:, 1:].tolist() == [[0.0, 1.0]] * RECORDS


def test_labels_may_be_the_numbers_0_and_1(model, signals):
    fitted = classifier(model, "head", steps=1).fit(signals, np.arange(RECORDS) % 2.0)
    assert fitted.classes_.tolist() == [0, 1]
