"""Diagnoses of conduction and recovery: AV and bundle branch blocks, pre-excitation and long QT."""

from collections.abc import Mapping
from functools import partial

from ecg_synth import morphology as m
from ecg_synth.diagnosis import Diagnosis, Range, change
from ecg_synth.rhythm import ESCAPE, JUNCTIONAL, dropping, independent, sinus

CONDUCTION: Mapping[str, Diagnosis] = {
    "1AVB": Diagnosis(
        "first-degree AV block", ("270492004",), (change(pr=Range(0.23, 0.34)),), per_decade=1.6, male=1.4
    ),
    "2AVB": Diagnosis(
        "second-degree AV block, Mobitz I",
        ("54016002", "195042002"),
        (change(pr=Range(0.17, 0.21)),),
        conduction=partial(dropping, cycle=(3, 5), step=(0.06, 0.10)),
        hides=frozenset({"ectopy"}),
        weight=0.7,
        per_decade=1.4,
    ),
    "Mobitz2": Diagnosis(
        "second-degree AV block, Mobitz II",
        ("426183003", "195042002"),
        (change(pr=Range(0.16, 0.21)),),
        conduction=partial(dropping, cycle=(3, 4), step=(0, 0)),
        hides=frozenset({"ectopy"}),
        weight=0.4,
        per_decade=1.5,
        companions={"RBBB": 0.2, "LBBB": 0.1},
    ),
    "3AVB": Diagnosis(
        "complete AV block",
        ("27885002",),
        atrium=partial(sinus, bpm=(68, 105), jitter=0.03),
        conduction=partial(independent, bpm=(30, 46), irregular=0.04, kinds=(ESCAPE, JUNCTIONAL)),
        hides=frozenset({"ectopy", "pr", "qrs"}),
        weight=0.8,
        per_decade=1.7,
    ),
    "LBBB": Diagnosis(
        "left bundle branch block",
        ("164909002", "733534002"),
        (
            change(
                qrs=m.LBBB,
                qrs_duration=Range(0.135, 0.17),
                st=(-0.1, 0, -0.12),
                t=(-0.3, -0.1, -0.4),
                qtc=Range(0.43, 0.46),
            ),
        ),
        weight=1.2,
        per_decade=1.5,
        companions={"1AVB": 0.12, "LAE": 0.1, "PVC": 0.08},
    ),
    "RBBB": Diagnosis(
        "right bundle branch block",
        ("59118001", "713427006"),
        (change(qrs=m.RBBB, qrs_duration=Range(0.125, 0.155), t=(0.3, 0.2, 0.14), qtc=Range(0.41, 0.44)),),
        weight=1.2,
        per_decade=1.4,
        male=1.6,
        companions={"1AVB": 0.1, "PAC": 0.06, "PVC": 0.06},
    ),
    "IRBBB": Diagnosis(
        "incomplete right bundle branch block",
        ("713426002",),
        (change(qrs=m.IRBBB, qrs_duration=Range(0.10, 0.115), t=(0.34, 0.2, 0.0)),),
        per_decade=0.8,
        male=1.6,
    ),
    "LAFB": Diagnosis(
        "left anterior fascicular block",
        ("445118002",),
        (change(qrs=m.LAFB, qrs_duration=Range(0.09, 0.11)),),
        also=("39732003",),
        per_decade=1.3,
        male=1.5,
    ),
    "WPW": Diagnosis(
        "Wolff-Parkinson-White pattern",
        ("74390002",),
        (
            change(
                pr=Range(0.085, 0.11),
                qrs=m.WPW_LEFT,
                qrs_duration=Range(0.12, 0.15),
                t=(0.25, -0.12, 0.2),
                st=(0.03, -0.06, 0.05),
            ),
            change(
                pr=Range(0.085, 0.11),
                qrs=m.WPW_RIGHT,
                qrs_duration=Range(0.12, 0.15),
                t=(-0.15, 0.05, -0.3),
                st=(-0.07, 0, -0.04),
            ),
        ),
        weight=0.8,
        per_decade=0.65,
        male=1.4,
    ),
    "LongQT": Diagnosis(
        "prolonged QT interval",
        ("111975006",),
        (change(qtc=Range(0.49, 0.57)),),
        male=0.6,
        companions={"NSSTC": 0.1},
    ),
}
