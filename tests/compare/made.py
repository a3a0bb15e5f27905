"""Inputs and saved folders, made once with the old environment: `python made.py OUT TREE [REALDATA] [CASES]`.

`TREE` is the old checkout, whose tests bring the writers of files: names below are the old tree's, and stay
when files move. Of real records those are taken that lie at even distances in the order of their names.
"""

import csv
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

REAL = {"cinc2021": 70, "chapman": 30, "code15-samitrop": 30}
PTBXL = 70


def formats(out: Path) -> None:
    """Write a file of every format, and a small copy of every dataset's layout."""
    import h5py
    from scipy.io import savemat
    from tests.marecg import clinical_files
    from tests.marecg.made_records import WRITERS, make_ecg, make_record

    from ecg_synth import write_corpus
    from ecg_synth.quirks import QUIRKS

    write_corpus(out / "wfdb", 8, 3, quirks=tuple(QUIRKS), label_noise=0.2)
    x_CL = np.rint((make_ecg() + 0.2) * 1000 / clinical_files.STEP_UV)
    i, ii = x_CL[:2] = 2 * (x_CL[:2] // 2)
    x_CL[2:6] = ii - i, -(i + ii) / 2, i - ii / 2, ii - i / 2
    x_CL *= clinical_files.STEP_UV / 1000
    (out / "clinical").mkdir()
    for name, write in clinical_files.FILES.items():
        write(out / "clinical" / name, x_CL)
        write(out / "clinical" / f"slow-{name}", x_CL[:, ::2], fs=250)
    x_BCL = np.stack([make_ecg(seed=seed) for seed in range(4)]).astype(np.float32)
    (out / "arrays").mkdir()
    for name, write in WRITERS.items():
        few = x_BCL[:2] if name in ("d.h5", "e.hdf5") else x_BCL
        write(out / "arrays" / name, few)
    np.save(out / "adc.npy", np.rint(x_BCL * 204.8).astype(np.int16))
    rows = np.rint(x_BCL[0].T * 1000).astype(int)
    heads = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
    for name, parting in (("k.csv", ","), ("l.tsv", "\t")):
        lines = [parting.join(map(str, row)) for row in (heads, *rows)]
        (out / "arrays" / name).write_text("\n".join(lines) + "\n")
    codes = [("a/0", "164889003"), ("a/0", "164909002"), ("a/1", "426783006"), ("a/2", "270492004")]
    lines = ["record,code,patient", *(f"{record},{code},p{record[-1]}" for record, code in codes)]
    (out / "codes.csv").write_text("\n".join(lines) + "\n")

    data = out / "datasets"
    folder = data / "ptb-xl" / "records500" / "00000"
    for name in ("00034_hr", "00007_hr"):
        make_record(folder, name, leads=[lead.upper() for lead in heads], comments=[])
    (data / "ptb-xl" / "ptbxl_database.csv").write_text(
        "ecg_id,patient_id,age,sex,report,scp_codes,strat_fold,filename_lr,filename_hr\n"
        '34,13619.0,56.0,0,"ein ""Befund""",{\'AFLT\': 100.0},9,,records500/00000/00034_hr\n'
        "7,13619.0,300.0,1,,\"{'NORM': 100.0, 'SR': 0.0}\",10,,records500/00000/00007_hr\n"
    )
    (data / "code15").mkdir()
    (data / "code15" / "exams.csv").write_text(
        "exam_id,age,is_male,nn_predicted_age,1dAVb,RBBB,LBBB,SB,ST,AF,patient_id,death,timey,normal_ecg,trace_file\n"
        "1169160,38,True,40.16,False,False,False,False,False,False,523632,False,2.0,True,exams_part0.hdf5\n"
        "2873686,73,True,67.05,False,True,False,False,True,False,1724173,False,6.6,False,exams_part0.hdf5\n"
    )
    x_BLC = np.zeros((3, 4096, 12), np.float32)
    x_BLC[0, 48:4048], x_BLC[1, 648:3448] = 2 * make_ecg(10, 400).T, 2 * make_ecg(7, 400).T
    with h5py.File(data / "code15" / "exams_part0.hdf5", "w") as file:
        file["exam_id"], file["tracings"] = np.array([1169160, 2873686, 0]), x_BLC
    (data / "cpsc").mkdir()
    for name in ("A0001", "A0002"):
        ecg = {"sex": "Male", "age": 74, "data": make_ecg(seed=int(name[1:]))}
        savemat(data / "cpsc" / f"{name}.mat", {"ECG": ecg})
    head = "Recording,First_label,Second_label,Third_label\n"
    (data / "cpsc" / "REFERENCE.csv").write_text(f"{head}A0001,5,2,\nA0002,1,,\nA0003,3,,\n")
    swapped = [*heads[:4], "aVF", "aVL", *heads[6:]]
    make_record(data / "mimic" / "files" / "p1" / "p10" / "s4", "4", leads=swapped, comments=[])
    (data / "mimic" / "record_list.csv").write_text("subject_id,path\n10,files/p1/p10/s4/4\n")
    about = ["age: 81", "sex: female", "Reason for admission: Myocardial infarction"]
    make_record(data / "ptbdb" / "patient001", "s0010_re", make_ecg(12, 1000), fs=1000, comments=about)
    for name in ("georgia", "ptb", "cpsc_2018_extra"):
        comments = ["Age: 63", "Sex: Female", "Dx: 164889003,426783006"]
        make_record(data / "challenge" / name / "g1", f"{name[0].upper()}0001", comments=comments)


def spread(things: list[Any], count: int) -> list[Any]:
    """Return `count` of the things, at even distances."""
    return [things[round(at)] for at in np.linspace(0, len(things) - 1, min(count, len(things)))]


def real(out: Path, data: Path) -> None:
    """Copy 200 records, those of PTB-XL with their rows of its table."""
    for name, count in REAL.items():
        headers = sorted((data / name).rglob("*.hea"))
        for header in spread(headers, count):
            for file in header.parent.glob(f"{header.stem}.*"):
                target = out / file.relative_to(data)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)
    with (data / "ptbxl" / "ptbxl_database.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    there = [row for row in rows if (data / "ptbxl" / f"{row['filename_hr']}.hea").exists()]
    chosen = spread(sorted(there, key=lambda row: int(row["strat_fold"])), PTBXL)
    for row in chosen:
        for file in (data / "ptbxl").glob(f"{row['filename_hr']}.*"):
            target = out / file.relative_to(data)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    with (out / "ptbxl" / "ptbxl_database.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(chosen)
    shutil.copyfile(data / "ptbxl" / "scp_statements.csv", out / "ptbxl" / "scp_statements.csv")


def saved(out: Path) -> None:
    """Make a corpus, a run with a checkpoint, a classifier, embeddings and the packaged models' folders."""
    import ecg_ontology
    import marecg
    import marecg_small

    def call(line: str) -> None:
        program = Path(sys.executable).with_name("marecg")
        subprocess.run([str(program), *line.split()], cwd=out, check=True)

    some = " ".join(f"--diagnosis {name}" for name in ("AF", "NSR", "LBBB", "SBrad"))
    call(f"synth --out wfdb --records 60 --seed 5 {some}")
    call("prepare wfdb --out corpus --jobs 1")
    sizes = ("max_steps=4", "checkpoint_every=2", "batch_size=8", "precision=32-true")
    sets = " ".join(f"--set train.{size}" for size in sizes)
    call(f"train --recipe tiny-c3 --data corpus --out run {sets}")
    call("embed run corpus --out embeddings/ --readout full --set part_records=16")
    corpus = marecg.Corpus.open(out / "corpus")
    parts = [("train", "train", "val", "test")[row % 4] for row in range(len(corpus))]
    rows = zip(corpus.ids, corpus.y[:, 5].astype(int), parts, strict=True)
    lines = ["record,AF,split", *(",".join(map(str, row)) for row in rows)]
    (out / "labels.csv").write_text("\n".join(lines) + "\n")
    call("classify fit marecg-small --data corpus --labels labels.csv --out classifier")
    for folder in Path(marecg_small.__file__).parent.glob("with*"):
        shutil.copytree(folder, out / "models" / folder.name)
    marecg.MarEcg.from_pretrained(out / "run").save_pretrained(out / "exported")
    ecg_ontology.load("extended", profile="curated").save(out / "extended.json")


def main(out: Path, tree: Path, realdata: Path | None, cases: Path | None) -> None:
    """Write everything below `out`."""
    for name in ("formats", "real", "saved"):
        (out / name).mkdir(parents=True)
    shutil.copytree(tree / "ontology", out / "ontology")
    sentences = (tree / "tests" / "ecg_ontology" / "statements" / "sentences.tsv").read_text(encoding="utf-8")
    lines = [line.split("\t")[2] for line in sentences.splitlines()[1:]]
    (out / "lines.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    codes = (
        "icd10:I44.7,left bundle branch block",
        "270492004,first degree av block",
        "icd10:I49.9,atrial fluter",
    )
    (out / "codes.csv").write_text("\n".join(("code,label", *codes)) + "\n")
    formats(out / "formats")
    if realdata:
        real(out / "real", realdata)
    if cases:
        shutil.copytree(cases, out / "cases")
    saved(out / "saved")


if __name__ == "__main__":
    main(*(Path(each) if each else None for each in sys.argv[1:]))
