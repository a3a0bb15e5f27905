"""Layout of an array: sampling rate, leads and units."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from ecg_base import UsageError
from ecg_records.errors import RecordError
from ecg_records.signal.leads import LEADS, lead_rows
from ecg_records.signal.samples import UNITS_PER_MV


@dataclass(frozen=True)
class Layout:
    """Layout of an array.

    Attributes:
        fs: Sampling rate in Hz.
        leads: Lead names, in the order of the array.
        units: mV, uV, V or adc.
        gain: Units per millivolt, only for adc.
        key: Name of the array in the file, needed if several arrays could be signals.
    """

    fs: float
    leads: tuple[str, ...] = LEADS
    units: str = "mV"
    gain: float | None = None
    key: str = ""

    def __post_init__(self) -> None:
        """Check the values. Raises `UsageError`."""
        adc, names = self.units.lower() == "adc", [name.strip().lower() for name in self.leads]
        if not (math.isfinite(self.fs) and self.fs > 0):
            problem = f"{self.fs:g} Hz isn't a sampling rate"
            raise UsageError(problem, where="--fs", remedy="Give samples per second")
        if not adc and self.units.lower() not in UNITS_PER_MV:
            remedy = "Choose mV, uV, V or adc"
            raise UsageError(f"no unit {self.units!r}", where="--set array.units", remedy=remedy)
        if adc != (self.gain is not None) or (adc and not (math.isfinite(self.gain or 0) and self.gain)):
            remedy = "Give units=adc together with gain=…, in units per mV"
            raise UsageError(
                "a gain belongs to adc units, and they to it", where="--set array.gain", remedy=remedy
            )
        if not names or len(set(names)) != len(names) or not all(names):
            remedy = "Name each lead once"
            raise UsageError("a lead is nameless or named twice", where="--set array.leads", remedy=remedy)

    @property
    def per_mv(self) -> float:
        """Number of the array's units in a millivolt."""
        return self.gain if self.gain is not None else UNITS_PER_MV[self.units.lower()]

    def twelve(self) -> "Layout":
        """Return the layout if it has the twelve standard leads. Raises `UsageError`."""
        try:
            lead_rows(self.leads)
        except RecordError as error:
            remedy = f"A corpus needs {', '.join(LEADS)}"
            raise UsageError(error.problem, where="--set array.leads", remedy=remedy) from error
        return self

    def as_dict(self) -> dict[str, Any]:
        """Return the layout as a dict for JSON."""
        return asdict(self) | {"leads": list(self.leads)}
