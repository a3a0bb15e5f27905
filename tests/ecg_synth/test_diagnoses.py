"""Each diagnosis meets its textbook criteria in the leads, and its codes mean it."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import ecg_ontology
from ecg_base import UsageError
from ecg_synth import DIAGNOSES, Noise, SyntheticRecord, record
from ecg_synth.leads import LEADS
from ecg_synth.patient import Patient

SEEDS = range(8)
FOLDED = {"Bigeminy": "PVC", "Trigeminy": "PVC", "Mobitz2": "2AVB"}
"""Names of ours that the graph has no leaf for."""
BESIDE = {"InfMI": {"AMI", "MyIsch"}}
"""What the codes say where no code of the Challenges says it all."""


class Beat:
    """The second beat of a clean record; mV against the end of the PR segment, times in s from QRS onset."""

    def __init__(self, made: SyntheticRecord) -> None:
        self.made, self.fs = made, made.fs
        beats = made.beats
        self.onset = beats.qrs_onset[1]
        self.qrs = beats.qrs_offset[1] - self.onset
        self.qt = beats.t_end[1] - self.onset
        self.p = self.onset - beats.p_onset[1]
        self.rr = float(np.median(np.diff(beats.r_peak)))

    def span(self, lead: str, start: float, end: float) -> np.ndarray:
        x = self.made.leads_mv[LEADS.index(lead)]
        level = x[round((self.onset - 0.004) * self.fs)]
        return x[round((self.onset + start) * self.fs) : round((self.onset + end) * self.fs)] - level

    def r(self, lead: str, start: float = 0, end: float = 1) -> float:
        """The highest point between two shares of the complex."""
        return float(self.span(lead, start * self.qrs, end * self.qrs).max())

    def s(self, lead: str, end: float = 1) -> float:
        """The depth of the lowest point up to a share of the complex."""
        return float(-self.span(lead, 0, end * self.qrs).min())

    def q(self, lead: str) -> float:
        return self.s(lead, 0.45)

    def st(self, lead: str) -> float:
        return float(self.span(lead, self.qrs + 0.03, self.qrs + 0.06).mean())

    def t(self, lead: str) -> float:
        span = self.span(lead, self.qrs + 0.1, self.qt)
        return float(span[np.abs(span).argmax()])

    def sokolow(self) -> float:
        return self.s("V1") + max(self.r("V5"), self.r("V6"))

    def cornell(self) -> float:
        return self.s("V3") + self.r("aVL")

    def axis(self) -> float:
        net = {lead: self.span(lead, 0, self.qrs).sum() for lead in ("I", "aVF")}
        return float(np.degrees(np.arctan2(net["aVF"] * 2 / np.sqrt(3), net["I"])))


CRITERIA: dict[str, Callable[[Beat], bool]] = {
    "NSR": lambda b: b.qrs < 0.11 and 0.12 < b.p < 0.2 and -30 < b.axis() < 100 and abs(b.st("V5")) < 0.1,
    "1AVB": lambda b: b.p > 0.22,
    "LBBB": lambda b: (
        b.qrs > 0.13 and b.s("V1") > 0.5 and b.r("V1") < 0.1 and b.q("V6") < 0.02 and b.t("V6") < 0
    ),
    "RBBB": lambda b: b.qrs > 0.12 and b.r("V1", 0.5) > 0.3 and b.s("V6") > 0.15,
    "IRBBB": lambda b: 0.09 < b.qrs < 0.12 and b.r("V1", 0.5) > 0.1,
    "LAFB": lambda b: -90 < b.axis() < -30 and b.qrs < 0.12,
    "WPW": lambda b: b.p < 0.12 and b.qrs > 0.11,
    "LongQT": lambda b: b.qt / np.cbrt(b.rr) > 0.48,
    "AntMI": lambda b: min(b.st("V2"), b.st("V3")) > 0.2 and b.r("V2", 0, 0.5) < 0.1 and b.st("III") < 0,
    "InfMI": lambda b: min(b.st("II"), b.st("III")) > 0.08 and b.st("aVL") < -0.05 and b.q("III") > 0.1,
    "OMI": lambda b: b.q("aVF") > 0.15 or b.r("V2", 0, 0.5) < 0.1,
    "STE": lambda b: min(b.st("II"), b.st("V4"), b.st("V5")) > 0.1,
    "STD": lambda b: max(b.st("II"), b.st("V4"), b.st("V5")) < -0.08,
    "TWI": lambda b: max(b.t("V4"), b.t("V5")) < -0.1,
    "MyIsch": lambda b: b.st("V5") < -0.06 and b.t("V5") < -0.05,
    "NSSTC": lambda b: abs(b.t("V5")) < 0.12 and abs(b.t("II")) < 0.12,
    "LVH": lambda b: (b.sokolow() > 3.5 or b.cornell() > 2.8) and b.t("V6") < 0,
    "RVH": lambda b: b.r("V1") > max(b.s("V1"), 0.5) and b.axis() > 90,
    "LAE": lambda b: b.span("V1", -b.p, 0).min() < -0.1,
    "RAE": lambda b: b.span("II", -b.p, 0).max() > 0.2,
    "LowV": lambda b: max(b.r(x) + b.s(x) for x in LEADS[:6]) < 0.5 and b.r("V5") + b.s("V5") < 1,
    "EarlyR": lambda b: b.st("V4") > 0.08 and b.t("V4") > 0.6,
}


@pytest.mark.parametrize("name", CRITERIA)
def test_a_diagnosis_meets_its_criteria(name):
    for seed in SEEDS:
        made = record(name, rng=np.random.default_rng((3, seed)), noise=Noise().times(0))
        assert CRITERIA[name](Beat(made)), f"seed {seed}"


@pytest.mark.parametrize("name", sorted(set(CRITERIA) - {"NSR"}))
def test_a_normal_record_does_not_meet_them(name):
    for seed in SEEDS:
        made = record("NSR", rng=np.random.default_rng((4, seed)), noise=Noise().times(0))
        assert not CRITERIA[name](Beat(made)), f"seed {seed}"


@pytest.mark.parametrize("name", DIAGNOSES)
def test_the_codes_of_a_diagnosis_route_to_its_leaf(name):
    onto = ecg_ontology.load()
    finding = DIAGNOSES[name]
    for code in finding.codes:
        routed = {onto.nodes[leaf].abbr for each in (code, *finding.also) for leaf in onto.route(each).leaves}
        expected = BESIDE.get(name, {FOLDED.get(name, name)})
        assert expected <= routed


def test_at_least_thirty_leaves_of_the_graph_have_a_diagnosis():
    leaves = {node.abbr for node in ecg_ontology.load().nodes[5:]}
    assert len(leaves & set(DIAGNOSES)) >= 30


def test_those_who_fibrillate_are_older():
    rngs = [np.random.default_rng((6, i)) for i in range(60)]
    fibrillating, normal = ([record(name, rng=rng).patient.age for rng in rngs] for name in ("AF", "NSR"))
    assert np.mean(fibrillating) > np.mean(normal) + 5


def test_a_woman_s_qtc_is_longer_and_the_old_have_slower_hearts():
    """At 60 a woman's rate is 2 bpm above and a man's 2 below; 25 years change it by another 2."""
    woman, man = (Patient(60, sex, 0.25, 0.0) for sex in ("Female", "Male"))
    assert woman.qtc_shift - man.qtc_shift == pytest.approx(0.012)
    assert (woman.rate_shift, man.rate_shift) == (2, -2)
    assert replace(woman, age=35).rate_shift == pytest.approx(4)
    assert replace(woman, age=85).rate_shift == pytest.approx(0)
    assert woman.voltage < man.voltage < replace(man, age=30).voltage


@pytest.mark.parametrize(
    ("findings", "seconds", "problem"),
    [
        (("LBBB", "RBBB"), 10, "LBBB and RBBB"),
        (("AF", "1AVB"), 10, "AF and 1AVB"),
        (("PAC", "AF"), 10, "PAC and AF"),
        (("LBB",), 10, r"unknown diagnosis: LBB\. .*LBBB"),
        (("NSR",), 0, "a record must have at least one sample, got 0 s at 500 Hz"),
    ],
)
def test_what_can_not_be_is_refused_by_name(findings, seconds, problem):
    with pytest.raises(UsageError, match=problem):
        record(*findings, rng=np.random.default_rng(0), seconds=seconds)


def test_findings_combine_in_one_record_with_all_their_codes():
    made = record("LBBB", "1AVB", "SBrad", rng=np.random.default_rng(0))
    assert made.diagnoses == ("LBBB", "1AVB", "SBrad")
    assert {"270492004", "426177001"} < set(made.codes)
    assert set(made.codes) & {"164909002", "733534002"}
