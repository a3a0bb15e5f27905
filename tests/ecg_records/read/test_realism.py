"""A synthetic normal record is as tall, as deep and as restless as a real one."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ecg_records.errors import RecordError
from ecg_records.readers.wfdb import read_record
from ecg_synth import record

SINUS_RHYTHM = "426783006"


def profile(leads_mv: NDArray[np.floating]) -> NDArray[np.float64]:
    """Height and depth of each lead's complexes and how far its one-second mean strays, in mV: [3, 12]."""
    level = leads_mv - np.median(leads_mv, axis=1, keepdims=True)
    seconds = level.reshape(12, -1, 500).mean(axis=2)
    return np.stack([*np.percentile(level, [99.7, 0.3], axis=1), seconds.std(axis=1)])


@pytest.mark.realdata
def test_typical_heights_depths_and_wander_lie_among_those_of_real_sinus_rhythm(realdata):
    real = []
    for header in sorted((realdata / "cinc2021").glob("*/*.hea")):
        try:
            found = read_record(header, header.parent)
        except RecordError:
            continue
        if found.codes == (SINUS_RHYTHM,) and found.fs == 500 and found.length == 5000:
            real.append(profile(found.x_CL))
    synthetic = [profile(record("NSR", rng=np.random.default_rng((9, i))).leads_mv) for i in range(40)]

    low, high = np.percentile(real, [10, 90], axis=0)
    typical = np.median(synthetic, axis=0)
    assert len(real) >= 20
    assert (low <= typical).all()
    assert (typical <= high).all()
