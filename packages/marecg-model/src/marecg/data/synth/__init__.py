"""Synthetic 12-lead ECGs whose every beat is known: a moving dipole, a drawn rhythm, noisy electrodes."""

from marecg.data.synth.corpus import Written, write_corpus
from marecg.data.synth.diagnoses import DIAGNOSES
from marecg.data.synth.heart import Beats
from marecg.data.synth.noise import Noise
from marecg.data.synth.quirks import QUIRKS
from marecg.data.synth.record import SyntheticRecord, drawn_record, record
from marecg.data.synth.truth import r_samples, truth

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
