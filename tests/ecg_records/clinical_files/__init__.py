"""One recording in each format that hospitals store, written so that a test can spoil any part of it."""

from collections.abc import Callable

from tests.ecg_records.clinical_files.dicom_file import dicom
from tests.ecg_records.clinical_files.edf_file import edf
from tests.ecg_records.clinical_files.recording import MEASURED, NAME, NUMBER, STATED, STEP_UV, steps
from tests.ecg_records.clinical_files.scp_file import scp
from tests.ecg_records.clinical_files.xml_files import aecg, muse, philips

__all__ = ["FILES", "MEASURED", "NAME", "NUMBER", "STATED", "STEP_UV"]
__all__ += ["aecg", "dicom", "edf", "muse", "philips", "scp", "steps"]

FILES: dict[str, Callable[..., None]] = {
    "d.dcm": dicom,
    "a.xml": aecg,
    "m.xml": muse,
    "e.edf": edf,
    "s.scp": scp,
    "p.xml": philips,
}
