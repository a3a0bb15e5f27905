"""A recording as a DICOM waveform, and what spoils it.

Shapes: C leads, L samples.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tests.marecg.clinical_files.recording import (
    ACQUIRED,
    BORN,
    CONFIRMED,
    HIGH,
    LEAD_NUMBERS,
    LOW,
    NAME,
    NUMBER,
    SAID,
    STATED,
    STEP_UV,
    steps,
)

from marecg.base.config import LEADS


def element(path: str, value: object) -> Callable[[object], None]:
    """Set an attribute of the first group's first channel, or of the group or the file."""

    def spoil(data: object) -> None:
        group = data.WaveformSequence[0]  # type: ignore[attr-defined]
        what, _, name = path.partition(".")
        target = {"group": group, "channel": group.ChannelDefinitionSequence[0], "file": data}[what]
        if value is None:
            delattr(target, name)
        else:
            setattr(target, name, value)

    return spoil


_MEANINGS = (
    "Ventricular Heart Rate",
    "PR Interval",
    "QRS Duration",
    "QT Interval",
    "QTc Interval",
    "QRS Axis",
)


def _text(text: str) -> object:
    from pydicom.dataset import Dataset

    note = Dataset()
    note.UnformattedTextValue = text
    return note


def _number(meaning: str, value: float) -> object:
    from pydicom.dataset import Dataset

    note, concept = Dataset(), Dataset()
    concept.CodeValue, concept.CodingSchemeDesignator, concept.CodeMeaning = "0", "SCPECG", meaning
    note.ConceptNameCodeSequence, note.NumericValue = [concept], value
    return note


def picture(data: object) -> None:
    del data.WaveformSequence  # type: ignore[attr-defined]
    data.Rows = data.Columns = 100  # type: ignore[attr-defined]


def dicom(
    path: Path,
    x_CL: NDArray[np.floating],
    leads: Sequence[str] = LEADS,
    fs: float = 500,
    unit: str = "uV",
    spoil: Callable[[object], None] = lambda data: None,
) -> None:
    from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
    from pydicom.uid import ExplicitVRLittleEndian, TwelveLeadECGWaveformStorage

    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = TwelveLeadECGWaveformStorage
    meta.MediaStorageSOPInstanceUID = "1.2.3.4"
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    data = FileDataset(str(path), {}, file_meta=meta, preamble=bytes(128))
    data.SOPClassUID, data.SOPInstanceUID = TwelveLeadECGWaveformStorage, "1.2.3.4"
    data.PatientName, data.PatientID, data.PatientSex = f"{NAME}^Florence", NUMBER, "F"
    data.PatientBirthDate, data.AcquisitionDateTime = BORN, ACQUIRED
    group = Dataset()
    group.WaveformOriginality, group.SamplingFrequency = "ORIGINAL", fs
    group.NumberOfWaveformChannels, group.NumberOfWaveformSamples = len(leads), x_CL.shape[1]
    group.WaveformBitsAllocated, group.WaveformSampleInterpretation = 16, "SS"
    group.WaveformData = steps(x_CL).T.tobytes()
    group.ChannelDefinitionSequence = []
    for lead in leads:
        channel, source, units = Dataset(), Dataset(), Dataset()
        source.CodeValue, source.CodingSchemeDesignator = f"2:{LEAD_NUMBERS[lead]}", "MDC"
        units.CodeValue, units.CodingSchemeDesignator = unit, "UCUM"
        channel.ChannelSourceSequence, channel.ChannelSensitivityUnitsSequence = [source], [units]
        channel.ChannelSensitivity, channel.ChannelBaseline = STEP_UV, 0
        channel.FilterLowFrequency, channel.FilterHighFrequency = LOW, HIGH
        group.ChannelDefinitionSequence.append(channel)
    data.WaveformSequence = [group]
    data.WaveformAnnotationSequence = [_text(text) for text in (*STATED, CONFIRMED)]
    data.WaveformAnnotationSequence += [_number(*each) for each in zip(_MEANINGS, SAID.values(), strict=True)]
    spoil(data)
    data.save_as(path, enforce_file_format=True)
