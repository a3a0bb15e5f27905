"""A recording in EDF+.

Shapes: C leads, L samples.
"""

import datetime
import warnings

import numpy as np
from tests.ecg_records.clinical_files.recording import ACQUIRED, HIGH, LOW, NAME, NUMBER, STEP_UV, steps

from ecg_records.signal.leads import LEADS


def edf(path, x_CL, leads=LEADS, fs=500, unit="uV", other_rate="", prefix="ECG "):
    from edfio import Edf, EdfSignal, Patient

    signals = []
    for lead, row in zip(leads, steps(x_CL).astype(np.int16), strict=True):
        half = lead == other_rate
        limits = {"physical_range": (-32768 * STEP_UV, 32767 * STEP_UV), "digital_range": (-32768, 32767)}
        signals.append(
            EdfSignal.from_digital(
                row[::2].copy() if half else row,
                fs / 2 if half else fs,
                label=f"{prefix}{lead}",
                physical_dimension=unit,
                prefiltering=f"HP:{LOW}Hz LP:{HIGH}Hz",
                **limits,
            )
        )
    when = datetime.datetime.strptime(ACQUIRED, "%Y%m%d%H%M%S")
    who = Patient(code=NUMBER, sex="F", birthdate=datetime.date(1971, 1, 23), name=NAME)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from edfio import Recording

        recording = Recording(startdate=when.date())
        Edf(signals, patient=who, recording=recording, starttime=when.time(), annotations=()).write(path)
