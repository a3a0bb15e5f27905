"""Large chambers and small voltages."""

from collections.abc import Mapping

from marecg.synth import morphology as m
from marecg.synth.diagnosis import Diagnosis, Range

STRUCTURE: Mapping[str, Diagnosis] = {
    "LVH": Diagnosis(
        "left ventricular hypertrophy",
        ("164873001",),
        (
            {
                "qrs": m.LVH,
                "qrs_duration": Range(0.095, 0.115),
                "qrs_gain": Range(1.85, 2.2),
                "st": (-0.1, -0.03, -0.06),
                "t": (-0.22, -0.08, -0.2),
            },
        ),
        weight=1.2,
        per_decade=1.3,
        male=1.3,
        companions={"LAE": 0.3},
    ),
    "RVH": Diagnosis(
        "right ventricular hypertrophy",
        ("89792004",),
        (
            {
                "qrs": m.RVH,
                "qrs_duration": Range(0.09, 0.11),
                "t": (0.2, -0.1, 0.25),
                "st": (0.03, -0.02, 0.06),
            },
        ),
        companions={"RAE": 0.35},
        also=("47665007",),
    ),
    "LAE": Diagnosis(
        "left atrial enlargement",
        ("67741000119109",),
        (
            {
                "p": (
                    m.Wave(0.28, 0.11, 0.11, (0.04, 0.09, -0.05)),
                    m.Wave(0.72, 0.12, 0.11, (0.08, 0.10, 0.20)),
                ),
                "p_duration": Range(0.125, 0.145),
                "p_gain": Range(0.9, 1.2),
            },
        ),
        per_decade=1.3,
    ),
    "RAE": Diagnosis(
        "right atrial enlargement",
        ("446358003", "67751000119106"),
        (
            {
                "p": (
                    m.Wave(0.42, 0.15, 0.14, (0.03, 0.27, -0.11)),
                    m.Wave(0.70, 0.11, 0.12, (0.05, 0.04, 0.04)),
                ),
                "p_gain": Range(0.95, 1.25),
            },
        ),
        weight=0.8,
    ),
    "LowV": Diagnosis(
        "low QRS voltage",
        ("251146004",),
        ({"qrs_gain": Range(0.27, 0.38), "t_gain": Range(0.4, 0.6)},),
        per_decade=1.2,
    ),
}
