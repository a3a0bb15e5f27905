"""Read EDF and EDF+ files. Each signal has a physical and a digital range, which give its scale.

Kemp et al. 1992, doi:10.1016/0013-4694(92)90009-7. Kemp and Olivan 2003, doi:10.1016/S1388-2457(03)00123-8.

Shapes: K leads of the file, L samples.
"""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from ecg_records.errors import Reason, RecordError
from ecg_records.readers.clinical.waveform import (
    Format,
    Waveform,
    filtered,
    finite_gain,
    per_mv,
    stacked,
)
from ecg_records.signal.leads import is_lead
from ecg_records.stretch import WHOLE, Stretch

RECORDS = slice(236, 244)
"""Bytes of the header that hold the number of data records. The number is −1 while recording."""
_HEADER = 256
_PREFILTERING = [re.compile(rf"\b{name}:\s*([\d.]+)\s*Hz", re.I) for name in ("HP", "LP", "N")]


def waveform(file: Path, stretch: Stretch = WHOLE) -> Waveform:
    """Read a stretch of an EDF file. Raises `RecordError`, or any error of edfio."""
    from edfio import read_edf  # noqa: PLC0415 — optional

    with file.open("rb") as content:
        head = content.read(_HEADER)
    if not head.startswith(b"0       "):
        raise RecordError(Reason.signal_format, "isn't an EDF file, despite its name")
    announced = int(head[RECORDS])
    data: Any = read_edf(file, lazy_load_data=True)
    if not data.is_continuous:
        raise RecordError(Reason.multi_segment, "must have no gaps, got EDF+D: convert it to EDF or EDF+C")
    if data.num_data_records < announced:
        raise RecordError(Reason.truncated, f"has {data.num_data_records} of {announced} data records")
    leads = [signal for signal in data.signals if is_lead(signal.label)]
    rates = sorted({float(signal.sampling_frequency) for signal in leads})
    if len(rates) > 1:
        problem = (
            f"leads must have the same sampling rate, got {' and '.join(f'{rate:g}' for rate in rates)} Hz"
        )
        raise RecordError(Reason.sampling_rate, problem)
    samples = [data.num_data_records * signal.samples_per_data_record for signal in leads]
    cut = stretch.samples(rates[0], min(samples)) if leads else slice(0)
    rows = []
    for signal in leads:
        finite_gain(signal.digital_max - signal.digital_min)
        finite_gain(signal.physical_max - signal.physical_min)
        samples_L = signal.get_data_slice(cut.start / rates[0], cut.stop / rates[0])
        rows.append(samples_L / per_mv(signal.physical_dimension))
    prefiltering = leads[0].prefiltering if leads else ""
    cutoffs = (pattern.search(prefiltering) for pattern in _PREFILTERING)
    return Waveform(
        names=[signal.label for signal in leads],
        x_KL=stacked(rows),
        fs=rates[0] if rates else 0.0,
        notes=filtered(*(match and match[1] for match in cutoffs)),  # as in `HP:0.05Hz LP:150Hz N:50Hz`
        length=min(samples, default=0),
        unused=tuple(signal.label for signal in data.signals if not is_lead(signal.label)),
        **_patient(data),
    )


def _patient(data: Any) -> dict[str, Any]:
    """Return the time of acquisition, and from EDF+ also the patient's id, sex and date of birth."""
    header: dict[str, Any] = {}
    with suppress(ValueError):  # includes edfio's AnonymizedDateError
        header["acquired"] = f"{data.startdate}T{data.starttime.replace(microsecond=0)}"
    if data.reserved.startswith("EDF+"):
        words = [*data.local_patient_identification.split(" "), ""]
        header["patient"] = None if words[0] == "X" else words[0]
        header["sex"] = words[1] if words[1] in ("F", "M") else None
        with suppress(ValueError, AttributeError, IndexError):
            header["born"] = data.patient.birthdate.isoformat()
    return header


EDF = Format("EDF", ("*.edf",), waveform)
