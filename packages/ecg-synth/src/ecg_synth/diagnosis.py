"""Define a diagnosis: its codes, its effects on beats and rhythm, and the patients who have it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ecg_synth.rhythm import Atrium, Conduction, Ectopy


class Range(NamedTuple):
    """Range from which a number is drawn uniformly."""

    low: float
    high: float


Change = Mapping[str, object]
"""Fields of `morphology.Shape`, each with its new value or the `Range` to draw it from."""


def change(**fields: object) -> Change:
    """Return the changes that a diagnosis makes to a beat.

    Each keyword is a field of `morphology.Shape`, with its new value or the `Range` to draw it from.
    """
    return fields


ATRIA = frozenset({"p", "p_duration", "p_gain", "pr", "atrial focus"})
"""Features that are invisible without P-waves."""
VENTRICLES = frozenset({"qrs", "qrs_duration", "qrs_gain", "st", "st_gain", "t", "t_gain", "qtc"})
"""Features of the patient's normal beat that are invisible if all beats arise in the ventricles."""


@dataclass(frozen=True)
class Diagnosis:
    """Diagnosis: its codes and its effects on beats and rhythm.

    Attributes:
        name: readable name.
        codes: alternative codes. Each record gets a random choice.
        shapes: alternative changes to the beat. Each record gets a random choice.
        atrium: atrial part of the rhythm (`rhythm.Atrium`), if the diagnosis determines it.
        conduction: conduction from atria to ventricles (`rhythm.Conduction`), if the diagnosis determines it.
        ectopy: early beats of the rhythm, if the diagnosis has them.
        hides: features that are invisible in a record with the diagnosis, such as `p`.
        also: codes that every record gets in addition.
        weight: relative frequency as the leading finding of a record. Companions may be added to it.
        per_decade: odds ratio per decade of age.
        male: odds ratio of men to women.
        companions: accompanying diagnoses, with their probability for a woman of 60 years.
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
        """Features of the beat and rhythm that the diagnosis sets or hides.

        Diagnoses that share a feature exclude each other.
        """
        parts = {part for part in ("atrium", "conduction", "ectopy") if getattr(self, part) is not None}
        return self.hides.union(parts, *self.shapes)
