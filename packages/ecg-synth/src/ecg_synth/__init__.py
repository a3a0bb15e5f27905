"""Synthetic 12-lead ECGs with known beats.

Signals come from a moving dipole, a random rhythm and electrodes with noise.
"""

from ecg_synth.corpus import Written, write_corpus
from ecg_synth.diagnoses import DIAGNOSES
from ecg_synth.heart import Beats
from ecg_synth.leads import LEADS
from ecg_synth.noise import Noise
from ecg_synth.quirks import QUIRKS
from ecg_synth.record import SyntheticRecord, drawn_record, r_samples, record, truth

__all__ = [
    "DIAGNOSES",
    "LEADS",
    "QUIRKS",
    "Beats",
    "Noise",
    "SyntheticRecord",
    "Written",
    "drawn_record",
    "r_samples",
    "record",
    "truth",
    "write_corpus",
]
