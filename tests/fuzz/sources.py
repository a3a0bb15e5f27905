"""A good source of every kind that is read, small enough to be damaged and read a hundred times a second."""

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import wfdb as package
from numpy.typing import NDArray
from scipy.io import savemat
from tests.ecg_records import clinical_files
from tests.made_records import WRITERS

from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.signal.leads import LEADS

LAYOUT = Layout(500)
X_BCL = np.random.default_rng(0).normal(0, 0.3, (2, 12, 3000)).astype(np.float32)
"""Two records of six seconds, in mV."""


def wfdb_212(folder: Path) -> None:
    steps_LC = (X_BCL[0].T * 1000).round().clip(-2047, 2047)
    package.wrsamp("r", 500, ["mV"] * 12, list(LEADS), d_signal=steps_LC.astype(int), fmt=["212"] * 12,
                   adc_gain=[1000.0] * 12, baseline=[0] * 12, write_dir=str(folder))  # fmt: skip


def wfdb(folder: Path, name: str = "A0001") -> None:
    lines = [f"{name} 12 500 3000", *(f"{name}.mat 16+24 1000/mV 16 0 0 0 0 {lead}" for lead in LEADS)]
    (folder / f"{name}.hea").write_text("\n".join([*lines, "#Age: 60", "#Sex: F", "#Dx: 426783006"]))
    (folder / f"{name}.mat").write_bytes(bytes(24) + (X_BCL[0].T * 1000).astype("<i2").tobytes())


def ptbxl(folder: Path) -> None:
    wfdb(folder, "00001_hr")
    columns = "ecg_id,patient_id,age,sex,scp_codes,strat_fold,filename_lr,filename_hr"
    rows = [f"{n},1.0,56.0,1,\"{{'NORM': 100.0}}\",3,,0000{n}_hr" for n in (1, 2)]
    (folder / "ptbxl_database.csv").write_text("\n".join([columns, *rows]))


def mimic(folder: Path) -> None:
    wfdb(folder, "40689238")
    row = "10000032,40689238,40689238,2180-07-23 08:44:00,40689238"
    (folder / "record_list.csv").write_text(f"subject_id,study_id,file_name,ecg_time,path\n{row}\n")


def code15(folder: Path) -> None:
    columns = "exam_id,age,is_male,1dAVb,RBBB,LBBB,SB,ST,AF,patient_id,normal_ecg,trace_file"
    rows = [f"{n},38,True,False,False,True,False,False,False,7,False,exams_part0.hdf5" for n in (1, 2)]
    (folder / "exams.csv").write_text("\n".join([columns, *rows]))
    with h5py.File(folder / "exams_part0.hdf5", "w") as file:
        file["exam_id"] = [1, 2]
        file["tracings"] = X_BCL.transpose(0, 2, 1)


def cpsc2018(folder: Path) -> None:
    table = "Recording,First_label,Second_label,Third_label\nA0001,5,2,\nA0002,1,,\n"
    (folder / "REFERENCE.csv").write_text(table)
    for row, compressed in enumerate((True, False)):
        ecg = {"sex": "Male", "age": 74.0, "data": X_BCL[row].astype(float)}
        savemat(folder / f"A000{row + 1}.mat", {"ECG": ecg}, do_compression=compressed)


def text(folder: Path) -> None:
    rows = (";".join(f"{value:.3f}".replace(".", ",") for value in row) for row in X_BCL[0].T)
    (folder / "a.csv").write_text("\n".join([";".join(LEADS), *rows]))


def hdf5_chunked(folder: Path) -> None:
    with h5py.File(folder / "a.hdf5", "w", libver="latest") as file:
        options = {"chunks": (1, 12, 1000), "compression": "gzip", "shuffle": True}
        file.create_dataset("ecg", data=X_BCL, fletcher32=True, **options)
        file.create_dataset("growing", data=np.zeros(9), maxshape=(None,))


def mat_level_4(folder: Path) -> None:
    savemat(folder / "a.mat", {"ecg": X_BCL[0], "fs": 500.0, "who": "nobody"}, format="4")


def mat_compressed(folder: Path) -> None:
    savemat(folder / "a.mat", {"ecg": X_BCL, "fs": 500.0}, do_compression=True)


def parquet_columns(folder: Path) -> None:
    pq.write_table(pa.table(dict(zip(LEADS, X_BCL[0], strict=True))), folder / "a.parquet")


def written(write: Callable[..., None], name: str, x: NDArray[np.float32]) -> Callable[[Path], None]:
    return lambda folder: write(folder / name, x)


CLINICAL = {"dicom": "dcm", "aecg": "xml", "muse": "xml", "edf": "edf", "scp": "scp", "philips": "xml"}
OWN = (wfdb, wfdb_212, text, ptbxl, mimic, code15, cpsc2018, hdf5_chunked, mat_level_4, mat_compressed)
KINDS: dict[str, Callable[[Path], None]] = {
    **{write.__name__: write for write in (*OWN, parquet_columns)},
    **{name: written(write, name, X_BCL) for name, write in WRITERS.items()},
    **{kind: written(getattr(clinical_files, kind), f"a.{end}", X_BCL[0]) for kind, end in CLINICAL.items()},
}
