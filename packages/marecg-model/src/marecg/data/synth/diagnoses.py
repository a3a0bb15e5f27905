"""Each diagnosis as data: codes, what it does to beat and rhythm, whom it strikes, what it comes with.

Codes are the ones the CinC Challenges 2020/2021 use. No Challenge code names an inferior infarction: ours
carries acute myocardial infarction together with inferior ischaemia.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from marecg.data.synth import morphology as m
from marecg.data.synth.rhythm import (
    ESCAPE,
    NORMAL,
    PACED,
    VENTRICULAR,
    Atrium,
    Conduction,
    Dropping,
    Ectopy,
    EveryNth,
    Fibrillation,
    Flutter,
    Independent,
    Silent,
    Sinus,
)


class Range(NamedTuple):
    """A number drawn evenly between two."""

    low: float
    high: float


Change = Mapping[str, object]
"""Fields of `morphology.Shape`, each with its new value or the `Range` it is drawn from."""

_P = frozenset({"p", "p_duration", "p_gain"})
_ATRIA = _P | {"pr"}
_VENTRICLES = frozenset({"qrs", "qrs_duration", "qrs_gain", "st", "st_gain", "t", "t_gain", "qtc"})


@dataclass(frozen=True)
class Diagnosis:
    """One finding.

    Args:
        codes: SNOMED CT codes that mean it; one is drawn.
        also: codes that stand beside it in the header.
        shapes: alternative changes to the beat; one is drawn.
        atrium, conduction, ectopy: the part of the rhythm that it takes over.
        hides: what can't be seen beside it, and so can't be combined with it.
        weight: how often it leads a record of a corpus.
        per_decade, male: odds ratios for ten more years of age and for men.
        companions: other findings that come with it, with their probability at 60 years.
    """

    name: str
    codes: tuple[str, ...]
    shapes: tuple[Change, ...] = ({},)
    atrium: Atrium | None = None
    conduction: Conduction | None = None
    ectopy: Ectopy | None = None
    hides: frozenset[str] = frozenset()
    also: tuple[str, ...] = ()
    weight: float = 1.0
    per_decade: float = 1.0
    male: float = 1.0
    companions: Mapping[str, float] = field(default_factory=dict)

    @property
    def claims(self) -> frozenset[str]:
        """All that it decides or hides: two findings whose claims meet can't be in one record."""
        parts = {part for part in ("atrium", "conduction", "ectopy") if getattr(self, part) is not None}
        return self.hides.union(parts, *self.shapes)


DIAGNOSES: Mapping[str, Diagnosis] = {
    # Sinus rhythms.
    "NSR": Diagnosis(
        "normal sinus rhythm", ("426783006",), atrium=Sinus((60, 99)), weight=4, per_decade=0.85
    ),
    "SBrad": Diagnosis("sinus bradycardia", ("426177001",), atrium=Sinus((38, 57)), weight=1.5, male=1.5),
    "STach": Diagnosis(
        "sinus tachycardia", ("427084000",), atrium=Sinus((103, 150), (0, 0.015)), weight=1.5, per_decade=0.9
    ),
    "SinusA": Diagnosis(
        "sinus arrhythmia", ("427393009",), atrium=Sinus((55, 85), (0.16, 0.26)), per_decade=0.7
    ),
    # Other rhythms.
    "AF": Diagnosis(
        "atrial fibrillation",
        ("164889003",),
        atrium=Fibrillation(),
        conduction=Independent((60, 140), irregular=0.22),
        hides=_ATRIA,
        weight=1.5,
        per_decade=1.7,
        male=1.3,
        companions={"LVH": 0.08, "NSSTC": 0.08, "PVC": 0.08, "RBBB": 0.05},
    ),
    "AFL": Diagnosis(
        "atrial flutter",
        ("164890007",),
        ({"pr": Range(0.18, 0.26)},),
        atrium=Flutter(),
        conduction=EveryNth(),
        hides=_ATRIA,
        per_decade=1.5,
        male=2.0,
        companions={"NSSTC": 0.08, "RBBB": 0.05},
    ),
    "SVT": Diagnosis(
        "supraventricular tachycardia",
        ("426761007",),
        atrium=Silent(),
        conduction=Independent((155, 215), irregular=0.004, retrograde=0.11),
        hides=_ATRIA,
        per_decade=0.9,
        male=0.6,
        companions={"STD": 0.25},
    ),
    "VT": Diagnosis(
        "ventricular tachycardia",
        ("164895002",),
        atrium=Silent(),
        conduction=Independent((140, 205), irregular=0.015, kinds=(VENTRICULAR,)),
        hides=_ATRIA | _VENTRICLES | {"ectopy"},
        weight=0.6,
        per_decade=1.3,
        male=2.0,
    ),
    "Paced": Diagnosis(
        "paced rhythm",
        ("10370003",),
        (
            {
                "qrs": m.PACED,
                "qrs_duration": Range(0.15, 0.18),
                "st": (-0.08, 0.1, -0.1),
                "t": (-0.25, 0.4, -0.3),
                "qtc": 0.45,
            },
        ),
        atrium=Silent(),
        conduction=Independent((60, 76), irregular=0.001, kinds=(PACED,)),
        hides=_ATRIA | _VENTRICLES | {"ectopy"},
        per_decade=2.0,
        male=1.4,
    ),
    # Ectopy.
    "PAC": Diagnosis(
        "premature atrial contraction",
        ("284470004", "63593006"),
        ectopy=Ectopy(atrial=True),
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
    # Atrioventricular conduction.
    "1AVB": Diagnosis(
        "first-degree AV block", ("270492004",), ({"pr": Range(0.23, 0.34)},), per_decade=1.6, male=1.4
    ),
    "2AVB": Diagnosis(
        "second-degree AV block, Mobitz I",
        ("54016002", "195042002"),
        ({"pr": Range(0.17, 0.21)},),
        conduction=Dropping((3, 5), (0.06, 0.10)),
        hides=frozenset({"ectopy"}),
        weight=0.7,
        per_decade=1.4,
    ),
    "Mobitz2": Diagnosis(
        "second-degree AV block, Mobitz II",
        ("426183003", "195042002"),
        ({"pr": Range(0.16, 0.21)},),
        conduction=Dropping((3, 4), (0, 0)),
        hides=frozenset({"ectopy"}),
        weight=0.4,
        per_decade=1.5,
        companions={"RBBB": 0.2, "LBBB": 0.1},
    ),
    "3AVB": Diagnosis(
        "complete AV block",
        ("27885002",),
        atrium=Sinus((68, 105)),
        conduction=Independent((30, 46), irregular=0.01, kinds=(ESCAPE, NORMAL)),
        hides=frozenset({"ectopy", "pr", "qrs"}),
        weight=0.8,
        per_decade=1.7,
    ),
    # Ventricular conduction.
    "LBBB": Diagnosis(
        "left bundle branch block",
        ("164909002", "733534002"),
        (
            {
                "qrs": m.LBBB,
                "qrs_duration": Range(0.135, 0.17),
                "st": (-0.1, 0, -0.12),
                "t": (-0.3, -0.1, -0.4),
                "qtc": Range(0.43, 0.46),
            },
        ),
        weight=1.2,
        per_decade=1.5,
        companions={"1AVB": 0.12, "LAE": 0.1, "PVC": 0.08},
    ),
    "RBBB": Diagnosis(
        "right bundle branch block",
        ("59118001", "713427006"),
        (
            {
                "qrs": m.RBBB,
                "qrs_duration": Range(0.125, 0.155),
                "t": (0.3, 0.2, 0.14),
                "qtc": Range(0.41, 0.44),
            },
        ),
        weight=1.2,
        per_decade=1.4,
        male=1.6,
        companions={"1AVB": 0.1, "PAC": 0.06, "PVC": 0.06},
    ),
    "IRBBB": Diagnosis(
        "incomplete right bundle branch block",
        ("713426002",),
        ({"qrs": m.IRBBB, "qrs_duration": Range(0.10, 0.115), "t": (0.34, 0.2, 0.0)},),
        per_decade=0.8,
        male=1.6,
    ),
    "LAFB": Diagnosis(
        "left anterior fascicular block",
        ("445118002",),
        ({"qrs": m.LAFB, "qrs_duration": Range(0.09, 0.11)},),
        also=("39732003",),
        per_decade=1.3,
        male=1.5,
    ),
    "LongQT": Diagnosis(
        "prolonged QT interval",
        ("111975006",),
        ({"qtc": Range(0.49, 0.57)},),
        male=0.6,
        companions={"NSSTC": 0.1},
    ),
    "WPW": Diagnosis(
        "Wolff-Parkinson-White pattern",
        ("74390002",),
        (
            {
                "pr": Range(0.085, 0.11),
                "qrs": m.WPW_LEFT,
                "qrs_duration": Range(0.12, 0.15),
                "t": (0.25, -0.12, 0.2),
                "st": (0.03, -0.06, 0.05),
            },
            {
                "pr": Range(0.085, 0.11),
                "qrs": m.WPW_RIGHT,
                "qrs_duration": Range(0.12, 0.15),
                "t": (-0.15, 0.05, -0.3),
                "st": (-0.07, 0, -0.04),
            },
        ),
        weight=0.8,
        per_decade=0.65,
        male=1.4,
    ),
    # Ischaemia and infarction.
    "AntMI": Diagnosis(
        "anterior myocardial infarction",
        ("54329005",),
        (
            {
                "qrs": m.Q_ANTERIOR,
                "st": (0.1, -0.15, -0.28),
                "st_gain": Range(0.7, 1.4),
                "t": (0.3, 0.08, -0.35),
            },
        ),
        per_decade=1.3,
        male=2.2,
        companions={"PVC": 0.12},
    ),
    "InfMI": Diagnosis(
        "inferior myocardial infarction",
        ("57054005",),
        (
            {
                "qrs": m.Q_INFERIOR,
                "st": (-0.12, 0.3, 0.06),
                "st_gain": Range(0.6, 1.2),
                "t": (0.12, 0.34, 0.02),
            },
        ),
        also=("425419005",),
        per_decade=1.3,
        male=2.2,
        companions={"1AVB": 0.12, "PVC": 0.08},
    ),
    "OMI": Diagnosis(
        "old myocardial infarction",
        ("164867002",),
        (
            {"qrs": m.Q_ANTERIOR, "t": (-0.02, 0.1, 0.2), "t_gain": Range(0.8, 1.2)},
            {"qrs": m.Q_INFERIOR, "t": (0.3, -0.14, -0.1), "t_gain": Range(0.8, 1.2)},
        ),
        per_decade=1.5,
        male=2.0,
        companions={"PVC": 0.08, "1AVB": 0.06},
    ),
    "STE": Diagnosis(
        "ST elevation",
        ("164931005",),
        ({"st": (0.14, 0.17, -0.12), "st_gain": Range(0.9, 1.6)},),
        per_decade=0.9,
        male=2.0,
    ),
    "STD": Diagnosis(
        "ST depression",
        ("429622005",),
        ({"st": (-0.16, -0.13, 0.05), "st_gain": Range(0.7, 1.3), "t_gain": 0.7},),
        per_decade=1.4,
    ),
    "TWI": Diagnosis(
        "T-wave inversion",
        ("59931005",),
        ({"t": (-0.30, -0.16, 0.06), "t_gain": Range(0.7, 1.2)},),
        per_decade=1.3,
    ),
    "MyIsch": Diagnosis(
        "myocardial ischaemia",
        ("164861001",),
        ({"st": (-0.13, -0.10, 0.04), "st_gain": Range(0.7, 1.2), "t": (-0.16, -0.10, 0.08)},),
        per_decade=1.4,
        male=1.2,
    ),
    "NSSTC": Diagnosis(
        "nonspecific ST-T changes",
        ("428750005",),
        ({"t": (0.05, 0.04, -0.03), "st": (-0.04, -0.03, 0.02)},),
        per_decade=1.2,
    ),
    # Structure and voltage.
    "LVH": Diagnosis(
        "left ventricular hypertrophy",
        ("164873001",),
        (
            {
                "qrs": m.LVH,
                "qrs_duration": Range(0.095, 0.115),
                "qrs_gain": Range(1.6, 2.2),
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
                    m.Wave(0.72, 0.12, 0.11, (0.08, 0.10, 0.17)),
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
    # Normal variant.
    "EarlyR": Diagnosis(
        "early repolarisation",
        ("428417006",),
        ({"qrs": m.J_NOTCH, "st": (0.08, 0.07, -0.08), "st_gain": Range(0.8, 1.2), "t": (0.55, 0.32, -0.3)},),
        per_decade=0.6,
        male=3.0,
    ),
}
"""Abbreviation → diagnosis: those of the concept graph, and three that the graph folds into PVC and 2AVB."""

RHYTHMS: Mapping[str, float] = {"NSR": 0.72, "SBrad": 0.12, "STach": 0.10, "AF": 0.06}
"""The rhythm under a finding that brings none of its own, with its probability at 60 years."""
