"""A recording as a DICOM waveform, and what spoils it.

Shapes: C leads, L samples.
"""

from collections.abc import Callable

from tests.ecg_records.clinical_files import recording as ecg

from ecg_records.signal.leads import LEADS


def element(path: str, value: object) -> Callable[[object], None]:
    """Set an attribute of the first group's first channel, or of the group or the file."""

    def spoil(data):
        group = data.WaveformSequence[0]
        what, _, name = path.partition(".")
        target = {"group": group, "channel": group.ChannelDefinitionSequence[0], "file": data}[what]
        if value is None:
            delattr(target, name)
        else:
            setattr(target, name, value)

    return spoil


_MEANINGS = (
    *("Ventricular Heart Rate", "PR Interval", "QRS Duration"),
    *("QT Interval", "QTc Interval", "QRS Axis"),
)


def _dataset(**values):
    from pydicom.dataset import Dataset

    dataset = Dataset()
    for name, value in values.items():
        setattr(dataset, name, value)
    return dataset


def _coded(value: str, scheme: str, **values):
    return _dataset(CodeValue=value, CodingSchemeDesignator=scheme, **values)


def group_of(data, leads, first=0, stop=None, offset_ms=None, label="", fs=None):
    """A group of some leads of the file's only one, from one sample to another."""
    from copy import deepcopy

    import numpy as np

    whole = data.WaveformSequence[0]
    group = deepcopy(whole)
    d_LC = np.frombuffer(whole.WaveformData, "<i2").reshape(-1, len(LEADS))[first:stop]
    places = [LEADS.index(lead) for lead in leads]
    group.ChannelDefinitionSequence = [whole.ChannelDefinitionSequence[place] for place in places]
    group.WaveformData = np.ascontiguousarray(d_LC[:, places]).tobytes()
    group.NumberOfWaveformChannels, group.NumberOfWaveformSamples = len(leads), len(d_LC)
    group.MultiplexGroupLabel = label
    group.SamplingFrequency = fs or group.SamplingFrequency
    if offset_ms is not None:
        group.MultiplexGroupTimeOffset = offset_ms
    return group


def picture(data) -> None:
    del data.WaveformSequence
    data.Rows = data.Columns = 100


def dicom(path, x_CL, leads=LEADS, fs=500, unit="uV", spoil=lambda data: None, born=ecg.BORN):
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import ExplicitVRLittleEndian, TwelveLeadECGWaveformStorage

    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = TwelveLeadECGWaveformStorage
    meta.MediaStorageSOPInstanceUID = "1.2.3.4"
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    data = FileDataset(str(path), {}, file_meta=meta, preamble=bytes(128))
    data.SOPClassUID, data.SOPInstanceUID = TwelveLeadECGWaveformStorage, "1.2.3.4"
    data.PatientName, data.PatientID, data.PatientSex = f"{ecg.NAME}^Florence", ecg.NUMBER, "F"
    data.PatientBirthDate, data.AcquisitionDateTime = born, ecg.ACQUIRED
    channels = [
        _dataset(
            ChannelSourceSequence=[_coded(f"2:{ecg.LEAD_NUMBERS[lead]}", "MDC")],
            ChannelSensitivityUnitsSequence=[_coded(unit, "UCUM")],
            ChannelSensitivity=ecg.STEP_UV,
            ChannelBaseline=0,
            FilterLowFrequency=ecg.LOW,
            FilterHighFrequency=ecg.HIGH,
        )
        for lead in leads
    ]
    group = _dataset(
        WaveformOriginality="ORIGINAL",
        SamplingFrequency=fs,
        NumberOfWaveformChannels=len(leads),
        NumberOfWaveformSamples=x_CL.shape[1],
        WaveformBitsAllocated=16,
        WaveformSampleInterpretation="SS",
        WaveformData=ecg.steps(x_CL).T.tobytes(),
        ChannelDefinitionSequence=channels,
    )
    data.WaveformSequence = [group]
    data.WaveformAnnotationSequence = [
        *(_dataset(UnformattedTextValue=text) for text in ecg.TEXTS),
        *(
            _dataset(ConceptNameCodeSequence=[_coded("0", "SCPECG", CodeMeaning=meaning)], NumericValue=value)
            for meaning, value in zip(_MEANINGS, ecg.MEASURED.values(), strict=True)
        ),
    ]
    spoil(data)
    data.save_as(path, enforce_file_format=True)
