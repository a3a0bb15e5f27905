"""What every file holds: its steps, its filters, whose it is and when it was taken.

Shapes: C leads, L samples.
"""

import numpy as np
from numpy.typing import NDArray

STEP_UV = 5
"""What one step of every format is worth."""
LOW, HIGH = 0.05, 150
"""The filters that every file tells of, Hz; MUSE only of the second in Hz."""
NAME, NUMBER = "Nightingale", "MRN-0042"
BORN, ACQUIRED = "19710123", "20130125105919"
MEASURED = {"rate": 66.0, "pr": 160.0, "qrs": 96.0, "qt": 400.0, "qtc": 420.0, "axis": -30.0}
STATED = ("SINUS RHYTHM", "INFERIOR INFARCT, OLD")
"""What the electrocardiograph measured and stated; a confirmation is left out."""
CONFIRMED = f"Confirmed by {NAME}"
TEXTS = (*STATED, CONFIRMED)
LEAD_NUMBERS = {
    **{lead: number for number, lead in enumerate(("I", "II", "V1", "V2", "V3", "V4", "V5", "V6"), 1)},
    **{lead: number for number, lead in enumerate(("III", "aVR", "aVL", "aVF"), 61)},
}


def steps(x_CL: NDArray[np.floating]) -> NDArray[np.int16]:
    return np.rint(x_CL * 1000 / STEP_UV).astype("<i2")
