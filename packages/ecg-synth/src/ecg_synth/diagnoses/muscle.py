"""Diagnoses of infarctions, ST and T changes, enlarged chambers and low voltage.

The PhysioNet/CinC Challenges have no code for an inferior infarction. Here it has the codes of acute
infarction and inferior ischaemia.
"""

from collections.abc import Mapping

from ecg_synth import morphology as m
from ecg_synth.diagnosis import Diagnosis, Range, change

MUSCLE: Mapping[str, Diagnosis] = {
    "AntMI": Diagnosis(
        "anterior myocardial infarction",
        ("54329005",),
        (change(qrs=m.Q_ANTERIOR, st=(0.1, -0.15, -0.28), st_gain=Range(0.7, 1.4), t=(0.3, 0.08, -0.35)),),
        per_decade=1.3,
        male=2.2,
        companions={"PVC": 0.12},
    ),
    "InfMI": Diagnosis(
        "inferior myocardial infarction",
        ("57054005",),
        (change(qrs=m.Q_INFERIOR, st=(-0.12, 0.3, 0.06), st_gain=Range(0.6, 1.2), t=(0.12, 0.34, 0.02)),),
        also=("425419005",),
        per_decade=1.3,
        male=2.2,
        companions={"1AVB": 0.12, "PVC": 0.08},
    ),
    "OMI": Diagnosis(
        "old myocardial infarction",
        ("164867002",),
        (
            change(qrs=m.Q_ANTERIOR, t=(-0.02, 0.1, 0.2), t_gain=Range(0.8, 1.2)),
            change(qrs=m.Q_INFERIOR, t=(0.3, -0.14, -0.1), t_gain=Range(0.8, 1.2)),
        ),
        per_decade=1.5,
        male=2.0,
        companions={"PVC": 0.08, "1AVB": 0.06},
    ),
    "STE": Diagnosis(
        "ST elevation",
        ("164931005",),
        (change(st=(0.14, 0.17, -0.12), st_gain=Range(1.1, 1.7)),),
        per_decade=0.9,
        male=2.0,
    ),
    "STD": Diagnosis(
        "ST depression",
        ("429622005",),
        (change(st=(-0.16, -0.13, 0.05), st_gain=Range(0.7, 1.3), t_gain=0.7),),
        per_decade=1.4,
    ),
    "TWI": Diagnosis(
        "T-wave inversion",
        ("59931005",),
        (change(t=(-0.30, -0.16, 0.06), t_gain=Range(0.7, 1.2)),),
        per_decade=1.3,
    ),
    "MyIsch": Diagnosis(
        "myocardial ischaemia",
        ("164861001",),
        (change(st=(-0.13, -0.10, 0.04), st_gain=Range(0.7, 1.2), t=(-0.16, -0.10, 0.08)),),
        per_decade=1.4,
        male=1.2,
    ),
    "NSSTC": Diagnosis(
        "nonspecific ST-T changes",
        ("428750005",),
        (change(t=(0.05, 0.04, -0.03), st=(-0.04, -0.03, 0.02)),),
        per_decade=1.2,
    ),
    "LVH": Diagnosis(
        "left ventricular hypertrophy",
        ("164873001",),
        (
            change(
                qrs=m.LVH,
                qrs_duration=Range(0.095, 0.115),
                qrs_gain=Range(1.85, 2.2),
                st=(-0.1, -0.03, -0.06),
                t=(-0.22, -0.08, -0.2),
            ),
        ),
        weight=1.2,
        per_decade=1.3,
        male=1.3,
        companions={"LAE": 0.3},
    ),
    "RVH": Diagnosis(
        "right ventricular hypertrophy",
        ("89792004",),
        (change(qrs=m.RVH, qrs_duration=Range(0.09, 0.11), t=(0.2, -0.1, 0.25), st=(0.03, -0.02, 0.06)),),
        companions={"RAE": 0.35},
        also=("47665007",),
    ),
    "LAE": Diagnosis(
        "left atrial enlargement",
        ("67741000119109",),
        (
            change(
                p=(
                    m.Wave(0.28, 0.11, 0.11, (0.04, 0.09, -0.05)),
                    m.Wave(0.72, 0.12, 0.11, (0.08, 0.10, 0.20)),
                ),
                p_duration=Range(0.125, 0.145),
                p_gain=Range(0.9, 1.2),
            ),
        ),
        per_decade=1.3,
    ),
    "RAE": Diagnosis(
        "right atrial enlargement",
        ("446358003", "67751000119106"),
        (
            change(
                p=(
                    m.Wave(0.42, 0.15, 0.14, (0.03, 0.27, -0.11)),
                    m.Wave(0.70, 0.11, 0.12, (0.05, 0.04, 0.04)),
                ),
                p_gain=Range(0.95, 1.25),
            ),
        ),
        weight=0.8,
    ),
    "LowV": Diagnosis(
        "low QRS voltage",
        ("251146004",),
        (change(qrs_gain=Range(0.27, 0.38), t_gain=Range(0.4, 0.6)),),
        per_decade=1.2,
    ),
}
