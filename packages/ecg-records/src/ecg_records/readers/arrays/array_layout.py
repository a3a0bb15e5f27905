"""Describe the layout of an array: sampling rate, leads and units."""

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
        key: Name of the array in the file. Required if several arrays of the file have an axis for the leads.
    """

    fs: float
    leads: tuple[str, ...] = LEADS
    units: str = "mV"
    gain: float | None = None
    key: str = ""

    def __post_init__(self) -> None:
        """Raise `UsageError` if a value is invalid."""
        adc, names = self.units.lower() == "adc", [name.strip().lower() for name in self.leads]
        if not (math.isfinite(self.fs) and self.fs > 0):
            raise UsageError(f"fs must be above 0 Hz, got {self.fs:g}")
        if not adc and self.units.lower() not in UNITS_PER_MV:
            raise UsageError(f"units must be mV, uV, V or adc, got {self.units!r}", where="array.units")
        if adc != (self.gain is not None) or (adc and not (math.isfinite(self.gain or 0) and self.gain)):
            problem = "units=adc and gain must be given together"
            raise UsageError(problem, where="array.gain", remedy="Give gain in units per mV")
        if not names or len(set(names)) != len(names) or not all(names):
            raise UsageError("leads must have different names, and no name may be empty", where="array.leads")

    @property
    def per_mv(self) -> float:
        """Number of the array's units in a millivolt."""
        return self.gain if self.gain is not None else UNITS_PER_MV[self.units.lower()]

    def twelve(self) -> "Layout":
        """Return the layout itself. Raise `UsageError` unless it has the twelve standard leads."""
        try:
            lead_rows(self.leads)
        except RecordError as error:
            remedy = f"A corpus needs {', '.join(LEADS)}"
            raise UsageError(error.problem, where="array.leads", remedy=remedy) from error
        return self

    def as_dict(self) -> dict[str, Any]:
        """Return the layout as a dict for JSON."""
        return asdict(self) | {"leads": list(self.leads)}
