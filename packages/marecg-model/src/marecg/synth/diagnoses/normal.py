"""Normal sinus rhythm and its harmless variants."""

from collections.abc import Mapping

from marecg.synth import morphology as m
from marecg.synth.diagnosis import Diagnosis, Range
from marecg.synth.rhythm import Sinus

NORMAL: Mapping[str, Diagnosis] = {
    "NSR": Diagnosis(
        "normal sinus rhythm", ("426783006",), atrium=Sinus((60, 99)), weight=4, per_decade=0.85
    ),
    "SinusA": Diagnosis(
        "sinus arrhythmia", ("427393009",), atrium=Sinus((55, 85), (0.16, 0.26)), per_decade=0.7
    ),
    "EarlyR": Diagnosis(
        "early repolarisation",
        ("428417006",),
        ({"qrs": m.J_NOTCH, "st": (0.08, 0.07, -0.08), "st_gain": Range(0.8, 1.2), "t": (0.55, 0.32, -0.3)},),
        per_decade=0.6,
        male=3.0,
    ),
}
