"""Diagnoses of rhythm: sinus rhythm and its benign variants, other rhythms, and early beats."""

from collections.abc import Mapping
from functools import partial

from ecg_synth import morphology as m
from ecg_synth.diagnosis import ATRIA, VENTRICLES, Diagnosis, Range, change
from ecg_synth.rhythm import (
    PACED,
    VENTRICULAR,
    Ectopy,
    every_nth,
    fibrillation,
    flutter,
    independent,
    silent,
    sinus,
)

RHYTHMS: Mapping[str, Diagnosis] = {
    "NSR": Diagnosis(
        "normal sinus rhythm", ("426783006",), atrium=partial(sinus, bpm=(60, 99)), weight=4, per_decade=0.85
    ),
    "SinusA": Diagnosis(
        "sinus arrhythmia",
        ("427393009",),
        atrium=partial(sinus, bpm=(55, 85), respiratory=(0.16, 0.26)),
        per_decade=0.7,
    ),
    "EarlyR": Diagnosis(
        "early repolarisation",
        ("428417006",),
        (change(qrs=m.J_NOTCH, st=(0.08, 0.07, -0.08), st_gain=Range(0.8, 1.2), t=(0.55, 0.32, -0.3)),),
        per_decade=0.6,
        male=3.0,
    ),
    "SBrad": Diagnosis(
        "sinus bradycardia", ("426177001",), atrium=partial(sinus, bpm=(38, 57)), weight=1.5, male=1.5
    ),
    "STach": Diagnosis(
        "sinus tachycardia",
        ("427084000",),
        atrium=partial(sinus, bpm=(103, 150), respiratory=(0, 0.015)),
        weight=1.5,
        per_decade=0.9,
    ),
    "AF": Diagnosis(
        "atrial fibrillation",
        ("164889003",),
        atrium=fibrillation,
        conduction=partial(independent, bpm=(60, 140), irregular=0.22),
        hides=ATRIA,
        weight=1.5,
        per_decade=1.7,
        male=1.3,
        companions={"LVH": 0.08, "NSSTC": 0.08, "PVC": 0.08, "RBBB": 0.05},
    ),
    "AFL": Diagnosis(
        "atrial flutter",
        ("164890007",),
        (change(pr=Range(0.18, 0.26)),),
        atrium=flutter,
        conduction=every_nth,
        hides=ATRIA,
        per_decade=1.5,
        male=2.0,
        companions={"NSSTC": 0.08, "RBBB": 0.05},
    ),
    "SVT": Diagnosis(
        "supraventricular tachycardia",
        ("426761007",),
        atrium=silent,
        conduction=partial(independent, bpm=(155, 215), irregular=0.004, retrograde=0.11),
        hides=ATRIA,
        per_decade=0.9,
        male=0.6,
        companions={"STD": 0.25},
    ),
    "VT": Diagnosis(
        "ventricular tachycardia",
        ("164895002",),
        atrium=silent,
        conduction=partial(independent, bpm=(140, 205), irregular=0.015, kinds=(VENTRICULAR,)),
        hides=ATRIA | VENTRICLES | {"ectopy"},
        weight=0.6,
        per_decade=1.3,
        male=2.0,
    ),
    "Paced": Diagnosis(
        "paced rhythm",
        ("10370003",),
        (
            change(
                qrs=m.PACED,
                qrs_duration=Range(0.15, 0.18),
                st=(-0.08, 0.1, -0.1),
                t=(-0.25, 0.4, -0.3),
                qtc=0.45,
            ),
        ),
        atrium=silent,
        conduction=partial(independent, bpm=(60, 76), irregular=0.001, kinds=(PACED,)),
        hides=ATRIA | VENTRICLES | {"ectopy"},
        per_decade=2.0,
        male=1.4,
    ),
    "PAC": Diagnosis(
        "premature atrial contraction",
        ("284470004", "63593006"),
        ectopy=Ectopy(atrial=True),
        hides=frozenset({"atrial focus"}),
        per_decade=1.3,
        weight=1.2,
    ),
    "PVC": Diagnosis(
        "premature ventricular contraction",
        ("427172004", "17338001"),
        ectopy=Ectopy(atrial=False),
        per_decade=1.25,
    ),
    "Bigeminy": Diagnosis(
        "ventricular bigeminy",
        ("11157007",),
        also=("427172004",),
        ectopy=Ectopy(atrial=False, every=2),
        weight=0.4,
    ),
    "Trigeminy": Diagnosis(
        "ventricular trigeminy",
        ("251180001",),
        also=("427172004",),
        ectopy=Ectopy(atrial=False, every=3),
        weight=0.4,
    ),
}
