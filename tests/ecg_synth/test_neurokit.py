"""NeuroKit2, which knows nothing of the model, finds its R-peaks and measures its intervals."""

import warnings

import neurokit2 as nk
import numpy as np
import pytest
from numpy.typing import NDArray

from ecg_synth import SyntheticRecord, r_samples, record, truth

FS = 500
RECORDS = 6


def peaks_found(lead: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.asarray(nk.ecg_peaks(nk.ecg_clean(lead, FS), FS)[1]["ECG_R_Peaks"])


def inner(samples: NDArray[np.int64]) -> NDArray[np.int64]:
    """R-peaks that are not cut by the record's ends."""
    return samples[(samples > 250) & (samples < 4750)]


def records(name: str) -> list[SyntheticRecord]:
    return [record(name, rng=np.random.default_rng((21, i))) for i in range(RECORDS)]


@pytest.mark.parametrize("name", ["NSR", "AF", "STach", "PAC", "1AVB", "RBBB", "LongQT", "LVH", "InfMI"])
def test_neurokit_finds_the_r_peaks_within_10_ms(name):
    missed = extra = 0
    lags: list[int] = []
    for made in records(name):
        found, true = peaks_found(made.leads_mv[0]), r_samples(made)
        away = found[:, None] - true
        nearest = away[np.arange(found.size), np.abs(away).argmin(1)]
        missed += sum(np.abs(found - peak).min() > 25 for peak in inner(true))
        extra += int((np.abs(nearest) > 25).sum())
        lags += nearest[np.abs(nearest) <= 25].tolist()

    assert missed <= 1
    assert extra <= 1
    assert np.percentile(np.abs(lags), 95) <= 5


SINUS = [(name, ("pr", "qrs", "qt")) for name in ("NSR", "SBrad", "1AVB")]


@pytest.mark.parametrize(("name", "intervals"), [*SINUS, ("AF", ("qrs", "qt"))])
def test_neurokits_delineation_agrees_within_30_ms(name, intervals):
    errors: dict[str, list[float]] = {interval: [] for interval in intervals}
    for made in records(name):
        lead = nk.ecg_clean(made.leads_mv[1], FS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            waves = nk.ecg_delineate(lead, peaks_found(made.leads_mv[1]), FS, method="prominence")[1]
            names = ("P_Onsets", "R_Onsets", "R_Offsets", "T_Offsets")
            p, on, off, end = (np.array(waves[f"ECG_{name}"], dtype=float) for name in names)
            measured = {"pr": on - p, "qrs": off - on, "qt": end - on}
            for interval in intervals:
                known = truth(made)["intervals"][interval]
                errors[interval].append(float(np.nanmedian(measured[interval])) / FS - known)

    for interval, values in errors.items():
        assert abs(np.median(values)) < 0.030, (interval, values)
