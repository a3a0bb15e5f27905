"""Read ECGs from files of any common format, and measure them.

The names in `__all__` are imported on first use, so that `import ecg_records` is fast.

Example:
    >>> import ecg_records
    >>> dir(ecg_records)  # doctest: +NORMALIZE_WHITESPACE
    ['EcgError', 'LEADS', 'Layout', 'Measured', 'Record', 'RecordError', 'Scanned', 'delineate', 'measure',
     'read', 'scan']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ecg_base import EcgError
    from ecg_records.api import Measured, Scanned, delineate, measure, read, scan
    from ecg_records.errors import RecordError
    from ecg_records.readers.arrays.array_layout import Layout
    from ecg_records.record import Record
    from ecg_records.signal.leads import LEADS

__all__ = [
    "LEADS",
    "EcgError",
    "Layout",
    "Measured",
    "Record",
    "RecordError",
    "Scanned",
    "delineate",
    "measure",
    "read",
    "scan",
]

_HOMES = {
    **dict.fromkeys(("Measured", "Scanned", "delineate", "measure", "read", "scan"), "ecg_records.api"),
    "EcgError": "ecg_base",
    "LEADS": "ecg_records.signal.leads",
    "Layout": "ecg_records.readers.arrays.array_layout",
    "Record": "ecg_records.record",
    "RecordError": "ecg_records.errors",
}


def __getattr__(name: str) -> Any:
    """Import a public name from its module on first use (PEP 562)."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    suggestion = import_module("ecg_base").suggest(name, __all__, "dir(ecg_records) lists the names")
    raise AttributeError(f"module 'ecg_records' has no attribute {name!r}. {suggestion}", name=name)


def __dir__() -> list[str]:
    """Return the public names, for tab completion."""
    return sorted(__all__)
