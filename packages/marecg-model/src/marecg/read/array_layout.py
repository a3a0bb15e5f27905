"""What an array does not say of itself: its sampling rate, leads and units."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from marecg.base.config import LEADS
from marecg.base.errors import RecordError, UsageError
from marecg.ecg.signal import UNITS_PER_MV, lead_rows


@dataclass(frozen=True)
class Layout:
    """What an array does not say of itself.

    Attributes:
        fs: samples per second.
        leads: the names of its leads, in its order.
        units: mV, uV, V, or adc.
        gain: units per millivolt, for adc only.
        key: which array of the file; needed where several could be signals.
    """

    fs: float
    leads: tuple[str, ...] = LEADS
    units: str = "mV"
    gain: float | None = None
    key: str = ""

    def __post_init__(self) -> None:
        """Raises `UsageError` where the values can't be."""
        if not (math.isfinite(self.fs) and self.fs > 0):
            raise UsageError(
                f"{self.fs:g} Hz isn't a sampling rate", where="--fs", remedy="Give samples per second"
            )
        adc = self.units.lower() == "adc"
        if not adc and self.units.lower() not in UNITS_PER_MV:
            raise UsageError(
                f"no unit {self.units!r}", where="--set array.units", remedy="Choose mV, uV, V or adc"
            )
        if adc != (self.gain is not None) or (adc and not (math.isfinite(self.gain or 0) and self.gain)):
            remedy = "Give units=adc together with gain=…, in units per mV"
            raise UsageError(
                "a gain belongs to adc units, and they to it", where="--set array.gain", remedy=remedy
            )
        names = [name.strip().lower() for name in self.leads]
        if not names or len(set(names)) != len(names) or not all(names):
            raise UsageError(
                "a lead is nameless or named twice", where="--set array.leads", remedy="Name each lead once"
            )

    @property
    def per_mv(self) -> float:
        """How many of the array's units make a millivolt."""
        return self.gain if self.gain is not None else UNITS_PER_MV[self.units.lower()]

    def twelve(self) -> "Layout":
        """This layout, if it has the twelve standard leads. Raises `UsageError`."""
        try:
            lead_rows(self.leads)
        except RecordError as error:
            remedy = f"A corpus needs {', '.join(LEADS)}"
            raise UsageError(error.problem, where="--set array.leads", remedy=remedy) from error
        return self

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `Layout(**…)` reads it back."""
        return asdict(self) | {"leads": list(self.leads)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Layout":
        """What `as_dict` gave."""
        return cls(**values | {"leads": tuple(values["leads"])})
