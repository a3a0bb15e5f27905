"""The rules that quarantine a recording."""

import numpy as np
import pytest
from tests.made_records import make_ecg

from ecg_records.signal.leads import LEADS
from ecg_records.signal.quality import bridged, measure, verdict
from marecg.corpus.config import CorpusConfig

CONFIG = CorpusConfig()


def reasons(x_CL: np.ndarray, fs: float = 500) -> list[str]:
    return [str(reason) for reason, _ in verdict(measure(x_CL.astype(np.float32), fs, CONFIG), CONFIG)]


def contradicts(x_CL: np.ndarray) -> bool:
    return measure(x_CL.astype(np.float32), 500, CONFIG).montage > CONFIG.montage_limit


@pytest.mark.parametrize("fs", [250, 500, 1000])
def test_the_rules_do_not_depend_on_the_sampling_rate(fs):
    x_CL = make_ecg(fs=fs)
    assert reasons(x_CL, fs) == []
    assert reasons(np.clip(x_CL, -0.25, 0.25), fs) == ["clipping"]


@pytest.mark.parametrize(
    ("lead", "samples", "value", "reason"),
    [
        pytest.param(4, slice(7, 8), np.nan, "nan", id="one sample that is no number"),
        pytest.param(4, slice(7, 8), np.inf, "nan", id="an infinite one"),
        pytest.param(2, slice(1700), 0, "zero-fraction", id="unplugged for a third of the time"),
        pytest.param(9, slice(2000, 2010), -10.5, "extreme-amplitude", id="beyond ten millivolts"),
    ],
)
def test_a_lead_that_is_wrong_somewhere_is_quarantined(lead, samples, value, reason):
    x_CL = make_ecg()
    x_CL[lead, samples] = value
    assert reasons(x_CL) == [reason]


@pytest.mark.parametrize("level", [0.0, 1.5])
def test_a_constant_lead_is_flat_whatever_its_level(level):
    x_CL = make_ecg()
    x_CL[11] = level
    assert reasons(x_CL)[0] == "flat-lead"


@pytest.mark.parametrize("rails", [(-0.25, 9.0), (-9.0, 0.25)])
def test_either_rail_alone_makes_clipping_and_coarse_steps_do_not(rails):
    assert reasons(np.clip(make_ecg(), *rails)) == ["clipping"]
    assert reasons(np.round(make_ecg() * 40) / 40 + 0.001) == []


@pytest.mark.parametrize("offset", [9.5, -9.5])
def test_an_offset_is_no_amplitude_and_hides_none(offset):
    x_CL = make_ecg()
    x_CL[3] += offset
    assert reasons(x_CL) == []
    x_CL[3, 2000:2010] = offset - np.sign(offset) * 10.5
    assert reasons(x_CL) == ["extreme-amplitude"]


def test_a_moment_of_extreme_amplitude_is_bridged_and_said_and_a_lead_that_has_many_is_not():
    """Half a second beyond ten millivolts is seven tenths with its margins."""
    x_CL = make_ecg()
    clean_CL = x_CL.copy()
    x_CL[9, 2000:2250] += 12
    mended_CL, lines = bridged(x_CL, 500, CONFIG)
    assert lines == ("V4: 0.70 s of extreme amplitude bridged",)
    assert reasons(mended_CL) == []
    untouched = np.ones(x_CL.shape, bool)
    untouched[9, 1950:2300] = False
    np.testing.assert_array_equal(mended_CL[untouched], clean_CL[untouched])
    assert np.abs(mended_CL[9]).max() <= np.abs(clean_CL[9]).max()
    x_CL[9, 2000:2900] += 12
    np.testing.assert_array_equal(bridged(x_CL, 500, CONFIG)[0], x_CL)
    assert bridged(clean_CL, 500, CONFIG)[1] == ()


def test_a_message_names_the_leads():
    x_CL = make_ecg()
    x_CL[[7, 9]] = 0
    (_, message), *_ = verdict(measure(x_CL.astype(np.float32), 500, CONFIG), CONFIG)
    assert message == "V2, V4: flat within 0.01 mV"


@pytest.mark.parametrize("swapped", [(0, 1), (0, 2), (3, 4), (1, 5)])
def test_limb_leads_that_contradict_one_another_are_noted_and_kept(swapped):
    x_CL = make_ecg()
    assert not contradicts(x_CL)
    x_CL[list(swapped)] = x_CL[list(reversed(swapped))]
    assert contradicts(x_CL)
    assert reasons(x_CL) == []


TURNED = [(lead, -1) for lead in ("III", "aVR", "aVL", "aVF")]


@pytest.mark.parametrize(("lead", "factor"), [*TURNED, ("II", 2)])
def test_a_limb_lead_with_the_wrong_sign_or_gain_is_noted(lead, factor):
    """Of limb leads that agree, I = 1 and II = 1.4 times a beat, one is turned over or larger."""
    beat_L = np.hanning(50)[np.arange(5000) % 50]
    heights = np.array([1, 1.4, 0.4, -1.2, 0.3, 0.9, -0.6, 0.4, 0.8, 1.3, 1.2, 1])
    x_CL = heights[:, None] * beat_L
    assert not contradicts(x_CL)
    x_CL[LEADS.index(lead)] *= factor
    assert contradicts(x_CL)
