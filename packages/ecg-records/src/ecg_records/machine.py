"""Keep the measurements and statements that the electrocardiograph wrote to a file.

Statements that name a person, such as "Confirmed by …", are dropped.
"""

import math
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

MEASURED = ("rate", "p", "pr", "qrs", "qt", "qtc", "axis")
"""First seven fields of `MachineReport`: rate in beats per minute, intervals in ms, frontal QRS axis in
degrees."""
LONGEST_MS = 2000
_NAMES_SOMEBODY = re.compile(
    r"\b(confirmed|read|reviewed|edited|signed|verified|ordered|referred|interpreted)( and \w+)? by\b"
    r"|\bM\.?D\.?(?!\w)|\bDr\b",
    re.I,
)


class MachineReport(NamedTuple):
    """Measurements and statements of the device. A value is None if it is missing or was not measured.

    Attributes:
        rate, atrial_rate: Rates per minute.
        p, pr, qrs, qt, qtc: Intervals in ms. `p` is the duration of the P wave.
        axis, p_axis, t_axis: Frontal axes of QRS, P and T in degrees.
        statements: Statements of the device.
    """

    rate: float | None = None
    p: float | None = None
    pr: float | None = None
    qrs: float | None = None
    qt: float | None = None
    qtc: float | None = None
    axis: float | None = None
    p_axis: float | None = None
    t_axis: float | None = None
    atrial_rate: float | None = None
    statements: tuple[str, ...] = ()

    @classmethod
    def of(cls, measured: Mapping[str, object], statements: Iterable[str | None] = ()) -> "MachineReport":
        """Build a report from a file's values.

        Placeholders such as 29999 and `Failed` give None. A rate or an interval of 0 also gives None, but an
        axis of 0 is kept.

        Args:
            measured: Values of any type by field name. If `rate` is missing, it is computed from the entry
                `rr`, the RR interval in ms.
            statements: Statements of the device.

        Example:
            >>> MachineReport.of({"qrs": "120", "pr": "0", "axis": "300"}, ["SINUS RHYTHM", " , old "])
            MachineReport(rate=None, p=None, pr=None, qrs=120.0, qt=None, qtc=None, axis=-60.0,
                          p_axis=None, t_axis=None, atrial_rate=None,
                          statements=('SINUS RHYTHM', 'old'))
        """
        values = {name: _plausible(name, number(value)) for name, value in measured.items()}
        rr = values.pop("rr", None)
        values["rate"] = values.get("rate") or (rr and 60_000 / rr)
        texts = (" ".join((text or "").split()).strip(" ,;") for text in statements)
        nameless = dict.fromkeys(text for text in texts if text and not _NAMES_SOMEBODY.search(text))
        return cls(statements=tuple(nameless), **values)


def number(value: object) -> float:
    """Return a table cell as a number, or NaN. A decimal comma is accepted."""
    text = str(value)
    try:
        return float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
    except ValueError:
        return math.nan


def _plausible(name: str, value: float) -> float | None:
    if name.endswith("axis"):
        return (value + 180) % 360 - 180 if abs(value) <= 360 else None
    return value if 0 < value < LONGEST_MS else None
