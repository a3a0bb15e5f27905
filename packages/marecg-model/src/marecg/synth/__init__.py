"""Synthetic 12-lead ECGs whose every beat is known: a moving dipole, a drawn rhythm, noisy electrodes."""

from marecg.synth.corpus import Written, write_corpus
from marecg.synth.diagnoses import DIAGNOSES
from marecg.synth.heart import Beats
from marecg.synth.noise import Noise
from marecg.synth.quirks import QUIRKS
from marecg.synth.record import SyntheticRecord, drawn_record, r_samples, record, truth

__all__ = [
    "DIAGNOSES",
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
