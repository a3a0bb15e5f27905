"""Diagnosis as data: codes, changes of beat and rhythm, patients, and companions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ecg_synth.rhythm import Atrium, Conduction, Ectopy


class Range(NamedTuple):
    """Range from which a number is drawn uniformly."""

    low: float
    high: float


Change = Mapping[str, object]
"""Fields of `morphology.Shape`, each with its new value or the `Range` it is drawn from."""


def change(**fields: object) -> Change:
    """Return a diagnosis' change to a beat, by the fields of `morphology.Shape`."""
    return fields


ATRIA = frozenset({"p", "p_duration", "p_gain", "pr", "atrial focus"})
"""All that can't be seen where there are no P-waves."""
VENTRICLES = frozenset({"qrs", "qrs_duration", "qrs_gain", "st", "st_gain", "t", "t_gain", "qtc"})
"""All that is not the patient's own where beats arise in the ventricles."""


@dataclass(frozen=True)
class Diagnosis:
    """Diagnosis with alternative codes, of which one is drawn, and accompanying codes.

    Of the changes to the beat, `shapes`, one is drawn; `atrium`, `conduction` and `ectopy` are the parts of
    the rhythm that it takes over, and `hides` what can't be seen beside it. `weight` is how often it leads a
    record of a corpus, `per_decade` and `male` are odds ratios, and `companions` come with it with their
    probability at 60 years.
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
        """Features that the diagnosis decides or hides; two that claim the same can't be in one record."""
        parts = {part for part in ("atrium", "conduction", "ectopy") if getattr(self, part) is not None}
        return self.hides.union(parts, *self.shapes)
