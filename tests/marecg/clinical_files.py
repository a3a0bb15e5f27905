"""One recording in each format that hospitals store, written so that a test can spoil any part of it.

Shapes: C leads, L samples.
"""

import base64
import datetime
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marecg.config import LEADS

STEP_UV = 5
"""What one step of every format is worth."""
NAME, NUMBER = "Nightingale", "MRN-0042"
BORN, ACQUIRED = "19710123", "20130125105919"
_NUMBERS = dict(zip(("I", "II", "V1", "V2", "V3", "V4", "V5", "V6"), range(1, 9), strict=True)) | dict(
    zip(("III", "aVR", "aVL", "aVF"), range(61, 65), strict=True)
)


def steps(x_CL: NDArray[np.floating]) -> NDArray[np.int16]:
    return np.rint(x_CL * 1000 / STEP_UV).astype("<i2")


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
        source.CodeValue, source.CodingSchemeDesignator = f"2:{_NUMBERS[lead]}", "MDC"
        units.CodeValue, units.CodingSchemeDesignator = unit, "UCUM"
        channel.ChannelSourceSequence, channel.ChannelSensitivityUnitsSequence = [source], [units]
        channel.ChannelSensitivity, channel.ChannelBaseline = STEP_UV, 0
        group.ChannelDefinitionSequence.append(channel)
    data.WaveformSequence = [group]
    spoil(data)
    data.save_as(path, enforce_file_format=True)


def aecg(
    path: Path,
    x_CL: NDArray[np.floating],
    leads: Sequence[str] = LEADS,
    fs: float = 500,
    unit: str = "uV",
    more: str = "",
) -> None:
    time = (
        '<component><sequence><code code="TIME_ABSOLUTE"/><value xsi:type="GLIST_TS">'
        f'<head value="{ACQUIRED}.000"/><increment value="{1 / fs!r}" unit="s"/>'
        "</value></sequence></component>"
    )
    rows = [
        f'<component><sequence><code code="MDC_ECG_LEAD_{lead.upper()}"/><value xsi:type="SLIST_PQ">'
        f'<origin value="0" unit="{unit}"/><scale value="{STEP_UV}" unit="{unit}"/>'
        f"<digits>{' '.join(map(str, row))}</digits></value></sequence></component>"
        for lead, row in zip(leads, steps(x_CL).tolist(), strict=True)
    ]
    person = (
        f'<componentOf><trialSubject><id extension="{NUMBER}"/><subjectDemographicPerson><name>{NAME}</name>'
        f'<administrativeGenderCode code="F"/><birthTime value="{BORN}"/></subjectDemographicPerson>'
        "</trialSubject></componentOf>"
    )
    path.write_text(
        '<?xml version="1.0" encoding="UTF-8"?><AnnotatedECG xmlns="urn:hl7-org:v3" '
        f'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">{person}<component><series>'
        f'<effectiveTime><low value="{ACQUIRED}.000"/></effectiveTime><component><sequenceSet>'
        f"{time}{more}{''.join(rows)}</sequenceSet></component></series></component></AnnotatedECG>",
        encoding="utf-8",
    )


def muse(
    path: Path,
    x_CL: NDArray[np.floating],
    leads: Sequence[str] = ("I", "II", "V1", "V2", "V3", "V4", "V5", "V6"),
    fs: float = 500,
    unit: str = "MICROVOLTS",
    bytes_kept: int | None = None,
) -> None:
    rows = []
    for lead in leads:
        content = steps(x_CL[LEADS.index(lead)]).tobytes()[:bytes_kept]
        rows.append(
            f"<LeadData><LeadSampleCountTotal>{x_CL.shape[1]}</LeadSampleCountTotal>"
            f"<LeadAmplitudeUnitsPerBit>{STEP_UV}</LeadAmplitudeUnitsPerBit>"
            f"<LeadAmplitudeUnits>{unit}</LeadAmplitudeUnits><LeadID>{lead}</LeadID>"
            f"<LeadSampleSize>2</LeadSampleSize>"
            f"<WaveFormData>\n{base64.encodebytes(content).decode()}</WaveFormData></LeadData>"
        )
    path.write_text(
        '<?xml version="1.0" encoding="ISO-8859-1"?><!DOCTYPE RestingECG SYSTEM "restecg.dtd"><RestingECG>'
        f"<PatientDemographics><PatientID>{NUMBER}</PatientID><PatientLastName>{NAME}</PatientLastName>"
        "<PatientAge>42</PatientAge><AgeUnits>YEARS</AgeUnits><Gender>FEMALE</Gender></PatientDemographics>"
        "<TestDemographics><AcquisitionDate>01-25-2013</AcquisitionDate>"
        "<AcquisitionTime>10:59:19</AcquisitionTime></TestDemographics>"
        f"<Waveform><WaveformType>Rhythm</WaveformType><SampleBase>{fs:g}</SampleBase>"
        f"<SampleExponent>0</SampleExponent>{''.join(rows)}</Waveform></RestingECG>",
        encoding="latin-1",
    )


def edf(
    path: Path,
    x_CL: NDArray[np.floating],
    leads: Sequence[str] = LEADS,
    fs: float = 500,
    unit: str = "uV",
    other_rate: str = "",
) -> None:
    from edfio import Edf, EdfSignal, Patient

    signals = []
    for lead, row in zip(leads, steps(x_CL).astype(np.int16), strict=True):
        half = lead == other_rate
        limits = {"physical_range": (-32768 * STEP_UV, 32767 * STEP_UV), "digital_range": (-32768, 32767)}
        signals.append(
            EdfSignal.from_digital(
                row[::2].copy() if half else row,
                fs / 2 if half else fs,
                label=f"ECG {lead}",
                physical_dimension=unit,
                **limits,
            )
        )
    when = datetime.datetime.strptime(ACQUIRED, "%Y%m%d%H%M%S")
    who = Patient(code=NUMBER, sex="F", birthdate=datetime.date(1971, 1, 23), name=NAME)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from edfio import Recording

        recording = Recording(startdate=when.date())
        Edf(signals, patient=who, recording=recording, starttime=when.time(), annotations=()).write(path)


FILES: dict[str, Callable[..., None]] = {"d.dcm": dicom, "a.xml": aecg, "m.xml": muse, "e.edf": edf}
