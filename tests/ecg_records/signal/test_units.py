"""The doubt about units: no real record raises it, and no other unit escapes it."""

import numpy as np
import pytest

from ecg_records.errors import RecordError
from ecg_records.readers.discovery import find
from ecg_records.signal.samples import amplitude_doubt, typical_amplitude


def test_a_typical_amplitude_is_not_moved_by_an_offset_an_artefact_or_a_dead_lead():
    x = np.tile(np.sin(np.arange(5000) / 50), (12, 1))
    expected = typical_amplitude(x)
    assert expected == pytest.approx(1, abs=0.01)
    x += 300
    x[:, :20] = 900
    x[3] = 0
    assert typical_amplitude(x) == pytest.approx(expected, rel=0.01)


def test_a_flat_record_is_no_question_of_units():
    assert amplitude_doubt(np.zeros((12, 500))) is None


def test_real_records_are_millivolts_and_nothing_else(realdata):
    signals = []
    for candidate in find([realdata / "cinc2021"])[::4]:
        try:
            signals.append(candidate.read().x_CL)
        except RecordError:
            continue
    whole = [x for x in signals if np.isfinite(x).all()]
    assert len(whole) > 40
    assert not any(amplitude_doubt(x) for x in whole)
    for scale in (1000, 200, 1e-3):  # µV, a common converter's integers, V
        assert all(amplitude_doubt(scale * x) for x in whole)
