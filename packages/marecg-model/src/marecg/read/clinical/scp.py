"""SCP-ECG (EN 1064) is recognised and not read: every such file is quarantined with what to do."""

from pathlib import Path

from marecg.errors import Reason, RecordError
from marecg.read.clinical.waveform import Format, Waveform


def waveform(file: Path) -> Waveform:
    """Raise `RecordError`."""
    raise RecordError(Reason.signal_format, "is SCP-ECG, which is not read: convert it to DICOM or HL7 aECG")


SCP = Format("SCP-ECG", ("*.scp",), "numpy", waveform)
