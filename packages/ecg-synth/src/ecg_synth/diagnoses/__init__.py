"""Diagnoses as data, by the families of the concept graph.

Codes are the ones that the CinC Challenges 2020/2021 use. Keys are the graph's abbreviations, and three names
for what the graph folds into PVC and 2AVB.
"""

from collections.abc import Mapping

from ecg_synth.diagnoses.conduction import CONDUCTION
from ecg_synth.diagnoses.muscle import MUSCLE
from ecg_synth.diagnoses.rhythms import RHYTHMS
from ecg_synth.diagnosis import Diagnosis

DIAGNOSES: Mapping[str, Diagnosis] = {**RHYTHMS, **CONDUCTION, **MUSCLE}

UNDERLYING: Mapping[str, float] = {"NSR": 0.72, "SBrad": 0.12, "STach": 0.10, "AF": 0.06}
"""The rhythm under a finding that brings none of its own, with its probability at 60 years."""
