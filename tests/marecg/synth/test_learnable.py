"""The classes are there in the signal: a linear model on simple features tells them apart."""

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from marecg.synth import DIAGNOSES, SyntheticRecord, r_samples, record

TRAIN, TEST = 9, 5


def features(made: SyntheticRecord) -> NDArray[np.float64]:
    """Medians and spreads of beats around the R-peaks, RR statistics, and the spectrum of I and II."""
    independent = made.leads_mv[[0, 1, 6, 7, 8, 9, 10, 11]]
    peaks = r_samples(made)
    peaks = peaks[(peaks > 150) & (peaks < independent.shape[1] - 300)]
    beats = np.stack([independent[:, peak - 150 : peak + 300 : 6] for peak in peaks])
    beats = beats - beats[:, :, :1]
    rr = np.diff(peaks) / made.fs
    step = np.abs(np.diff(rr)) / rr.mean()
    extremes = [rr.min() / rr.mean(), rr.max() / rr.mean()]
    timing = [rr.mean(), 1 / rr.mean(), rr.std(), *extremes, step.mean(), step.max()]
    spectrum = np.log1p(np.abs(np.fft.rfft(independent[[1, 2]], axis=1))[:, 5:150:3])
    return np.concatenate(
        [np.median(beats, axis=0).ravel(), beats.std(axis=0).mean(axis=1), timing, spectrum.ravel()]
    )


def test_a_linear_model_on_simple_features_tells_the_diagnoses_apart():
    table = np.array(
        [
            [features(record(name, rng=np.random.default_rng((5, k, i)))) for i in range(TRAIN + TEST)]
            for k, name in enumerate(DIAGNOSES)
        ]
    )
    classes = np.arange(len(DIAGNOSES))
    model = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5))
    model.fit(table[:, :TRAIN].reshape(len(classes) * TRAIN, -1), np.repeat(classes, TRAIN))
    truth = np.repeat(classes, TEST)
    scores = model.predict_proba(table[:, TRAIN:].reshape(len(classes) * TEST, -1))

    auc = {name: roc_auc_score(truth == k, scores[:, k]) for k, name in enumerate(DIAGNOSES)}

    assert np.mean(list(auc.values())) > 0.98, auc
    assert min(auc.values()) > 0.88, auc
    assert np.mean(scores.argmax(1) == truth) > 0.75
