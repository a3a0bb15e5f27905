"""What can't be done ends in one line that names it, with its exit code, and nothing is written or lost."""

import shlex
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.cli.calls import end

LEADS = "--set array.leads=I,II,III,aVR,aVL,aVF,V1,V2,V3,V4,V5,V6"
TASK = "--task labels.csv --root P/corpus --fraction 1 --out x"
NO_MODELS = ("corpus", "records", "parts", "nowhere")
NEED_A_MODEL = (
    *("predict P/{} P/wfdb", f"probe P/{{}} {TASK}", "export P/{} --out x.onnx"),
    "classify fit P/{} --data P/corpus --out x",
)
EMBEDDINGS = {"embedded.npz": 2, "embedded.parquet": 2, "parts": 3}

REFUSED = [
    *[(line.format(place), 3, f"/{place}") for line, place in product(NEED_A_MODEL, NO_MODELS)],
    # Anything else in front of others is an input.
    ("embed P/nowhere P/corpus --out x.npz", 3, "/nowhere"),
    *[(f"predict P/run P/{kind}", code, kind) for kind, code in EMBEDDINGS.items()],
    *[(f"predict P/clf P/{kind}", code, kind) for kind, code in EMBEDDINGS.items()],
    ("embed P/run some.npy --out x.npz", 2, "Set fs"),
    ("embed P/run some.npy --fs 0 --out x.npz", 2, "fs must be above 0 Hz"),
    ("embed P/run some.npy --fs -500 --out x.npz", 2, "fs must be above 0 Hz"),
    ("embed P/run some.npy --fs 500 --set array.leads=I,X --out x.npz", 2, "unknown leads ['X']"),
    ("embed P/run some.npy --fs 500 --set array.leads=I,II --out x.npz", 2, "2 leads"),
    ("embed P/run text.npy --fs 500 --out x.npz", 3, "can't be read as .npy"),
    ("embed P/run none.npy --fs 500 --out x.npz", 3, "contains no record"),
    ("embed P/run some.npy --fs 49 --out x.npz", 3, "fs must be 50 to 100000 Hz, got 49 Hz"),
    ("embed P/run brief.npy --fs 500 --out x.npz", 3, "must last at least 0.1 s"),
    ("embed P/run pickled.npy --fs 500 --out x.npz", 3, "can't be read as .npy"),
    ("embed P/run imaginary.npy --fs 500 --out x.npz", 2, "no numbers"),
    ("embed P/run absent.npy --fs 500 --out x.npz", 3, "absent.npy: no such file"),
    ("embed P/run P/wfdb --out x.csv", 2, "Use .npz or .parquet, or a folder name that ends in /"),
    ("embed P/run nowhere --out x.npz", 3, "nowhere: no such file"),
    ("embed P/run empty --out x.npz", 3, "no WFDB header"),
    (f"embed {'a' * 300} b --out x.npz", 3, f"error: {'a' * 300}: File name too long"),
    ("embed P/run P/wfdb --out s4://bucket/parts", 2, "isn't an address"),
    ("predict empty P/wfdb", 3, "empty"),
    ("predict P/mute P/wfdb", 2, "without GSCL"),
    (
        "predict P/run hole.npy --fs 500",
        3,
        "hole.npy: no lead is usable (all leads: more missing samples than can be bridged). Cut the",
    ),
    (f"predict P/run one.csv --fs 250 {LEADS} --out q.xlsx", 2, "must end in .csv or .parquet, got .xlsx"),
    (f"predict P/run one.csv --fs 250 {LEADS} --out file/q.csv", 3, "cannot be written"),
    (f"predict P/run one.csv --fs 250 {LEADS} --out one.csv", 2, "is an input"),
    (f"predict P/run one.csv --fs 250 {LEADS} --out s3://bucket/q.csv", 2, "s3:"),
    (
        "predict P/run P/wfdb --every 5s --set calibrate=labels.csv",
        2,
        "calibrate can't be combined with --every",
    ),
    ("probe P/run --task labels.csv --root P/corpus --out x --card", 2, "can't be combined with --out"),
    ("export P/run --to torch --out x.onnx", 2, "--out must end in .pt2 with --to torch, got .onnx"),
    (
        "cohort P/corpus --where AF --out P/corpus/report.json",
        2,
        "is a file of the corpus and would be lost",
    ),
    ("cohort P/corpus --where AF --out P/corpus/shards/../index.parquet", 2, "and would be lost"),
    ("cohort P/corpus --where 'AF and'", 2, "position 7: the expression ends too early"),
    ("cohort P/corpus --where 'sex = F'", 2, "Write text as 'F'"),
    ("cohort P/corpus --out folder/", 2, "a new corpus needs --where"),
    ("cohort P/corpus --where AF --format parquet", 2, "--format parquet needs --out FILE"),
    ("cohort P/corpus --where AF --out af.xlsx", 2, "the ending of af.xlsx isn't a known format"),
    ("probe P/run --root empty --task ptbxl-everything", 2, "ptbxl-super"),
    ("report P/run --leads MLII=II", 2, "--leads needs a record"),
    ("report P/run --out x.html --age 5", 2, "--age needs a record"),
    ("probe P/run --root empty --fraction 2", 2, "fraction"),
    ("probe P/run --root empty --seeds 0", 2, "seeds"),
    ("probe P/run --root no-such-folder", 3, "no-such-folder"),
    ("probe empty --root empty", 3, "empty/ptbxl_database.csv"),
    ("probe P/run --root empty --task all", 2, "--root cpsc2018=PATH"),
    ("table empty", 2, "marecg probe"),
    ("data get georgia --out x --mirror http://127.0.0.1:9", 3, "can't be reached"),
    ("data get cpsc2018 --out x", 3, "by hand"),
    ("data get georgie --out x", 2, "unknown dataset 'georgie'"),
    ("data list --root nowhere", 3, "doesn't exist"),
    ("train --data empty --out x", 3, "empty"),
    ("train --data empty --out x --recipe c9", 2, "unknown recipe 'c9'"),
    ("train --data empty --out x --set train.max_step=2", 2, "Did you mean train.max_steps"),
    ("train --data empty --out x --set train.lr", 2, "has no '='"),
    ("train --data P/corpus --out x --from nowhere", 3, "nowhere: is not a folder"),
    ("train --data P/corpus --out x --from marecg-small-of-nobody", 3, "marecg-small-of-nobody"),
    ("recipes --format toml", 2, "needs the name of a recipe"),
    ("prepare empty --out x", 3, "empty"),
    ("prepare missing --out x", 3, "missing"),
    ("prepare P/records --out x --jobs 0", 2, "the number of processes must not be 0"),
    ("prepare P/records --out file/x", 3, "file"),
    ("prepare P/records --out x --set amplitude=1", 2, "unknown setting 'amplitude'"),
    ("prepare P/records --out x --set zero_limit", 2, "has no '='"),
    ("prepare P/records --out x --set zero_limit=much", 2, "zero_limit must be a number, not 'much'"),
    ("prepare P/records --out x --set window=-1", 2, "greater than 0"),
    ("prepare P/records --out x --set rpeaks=mine", 2, "pantompkins1985"),
    ("synth --out x --diagnosis flu", 2, "error: unknown diagnosis: flu. Choose from NSR"),
    ("synth --out file/x --records 1", 3, "file/x"),
    ("prepare P/records --out x --set codes.vocabulary=scp", 2, "settings codes.KEY need --codes"),
    ("prepare some.npy --out x --fs 500 --set array.leads=I,II", 2, "lacks the leads III"),
    ("prepare some.npy --out x --fs 0", 2, "fs must be above 0 Hz"),
    ("prepare some.npy --out x", 2, "Set fs"),
    ("prepare two.npz --out x --fs 500", 2, "array.key"),
    ("audit empty --verify", 3, "empty"),
    ("audit empty", 2, "--against"),
]


@pytest.fixture
def here(asked_about, tmp_path, monkeypatch):
    """The folder in which a command runs, with what it is asked about."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(asked_about, tmp_path, dirs_exist_ok=True)


@pytest.fixture(scope="module")
def asked_about(tmp_path_factory):
    folder = tmp_path_factory.mktemp("asked")
    signals = np.tile(np.sin(np.arange(2500, dtype=np.float32) / 50), (1, 12, 1))
    np.save(folder / "some.npy", signals)
    np.save(folder / "none.npy", signals[:0])
    np.save(folder / "brief.npy", signals[:, :, :49])
    np.save(folder / "hole.npy", signals[0] + np.where(np.arange(2500) < 700, np.nan, 0))
    np.save(folder / "pickled.npy", np.array([{}], object), allow_pickle=True)
    np.save(folder / "imaginary.npy", signals.astype(complex))
    np.savez(folder / "two.npz", ecg=signals, filtered=signals)
    np.savetxt(folder / "one.csv", np.random.default_rng(0).normal(size=(2500, 12)), delimiter=",")
    (folder / "text.npy").write_text("no array")
    (folder / "file").touch()
    for name in ("empty", "folder.h5"):
        (folder / name).mkdir()
    return folder


def contents(*folders: Path) -> dict[Path, tuple[int, int]]:
    return {
        path: (path.stat().st_size, path.stat().st_mtime_ns)
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() or not any(path.iterdir())
    }


@pytest.mark.parametrize(("line", "code", "problem"), REFUSED, ids=[line[:60] for line, *_ in REFUSED])
def test_what_is_refused_is_one_line_and_leaves_everything_as_it_was(kinds, here, line, code, problem):
    (here / "labels.csv").write_bytes((kinds / "labels.csv").read_bytes())
    before = contents(kinds, here)
    ended, message = end(*(word.replace("P/", f"{kinds}/") for word in shlex.split(line)))
    assert (ended, message.partition(":")[0]) == (code, "error")
    assert problem.replace("P/", f"{kinds}/") in message
    assert contents(kinds, here) == before


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("probe --task ptbxl", "Did you mean ptbxl-super?"),
        ("probe --set readuot=wide", "Did you mean readout?"),
        pytest.param(
            "probe --features mine=absent.npz --task corpus --root .",
            "absent.npz: no such file",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "classify fit marecg-small-codez --data . --out x",
            "Did you mean marecg-small-codes?",
            marks=pytest.mark.nightly,
        ),
        ("classify fit marecg-small-codes --data . --labels absent.csv --out x", "absent.csv: no such file"),
        pytest.param("train --data nowhere --out x", "nowhere: no such file", marks=pytest.mark.nightly),
        ("predict absent.jpg", "absent.jpg: no such file"),
    ],
)
def test_a_typo_is_answered_before_torch_and_scipy_are_imported(line, problem, tmp_path):
    pytest.importorskip("marecg_small")
    code = (
        "import sys; from marecg_cli.marecg import main\n"
        f"try: main({shlex.split(line)!r})\n"
        "finally: print([name for name in ('torch', 'scipy') if name in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert problem in done.stderr
    assert done.returncode in (2, 3)
    assert done.stdout == "[]\n"
