"""Tables of diagnoses, grouped like the families of the concept graph in `ecg_ontology`.

The codes come from the PhysioNet/CinC Challenges 2020/2021. Keys are the graph's abbreviations. Three
further keys name diagnoses that the graph merges into PVC and 2AVB.
"""

from collections.abc import Mapping

from ecg_synth.diagnoses.conduction import CONDUCTION
from ecg_synth.diagnoses.muscle import MUSCLE
from ecg_synth.diagnoses.rhythms import RHYTHMS
from ecg_synth.diagnosis import Diagnosis

DIAGNOSES: Mapping[str, Diagnosis] = {**RHYTHMS, **CONDUCTION, **MUSCLE}

UNDERLYING: Mapping[str, float] = {"NSR": 0.72, "SBrad": 0.12, "STach": 0.10, "AF": 0.06}
"""Rhythms of records whose findings set no rhythm, with their probability at 60 years."""
