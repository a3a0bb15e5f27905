"""Run every step with the environment of this Python: `python steps.py INPUTS quick|full` in an empty folder.

Each step has a folder with what it prints (`stdout`, `stderr`, `exit`) and writes. The commands are in
`commands.txt`. Python is called by public names, or by `first` of several places of a name that moves.
"""

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import sys
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np

IN, QUICK = Path(sys.argv[1]), sys.argv[2] == "quick"
SAVED = IN / "saved"
SMALL = SAVED / "models" / "with_ptbxl_codes"
WORDS = {
    "in": IN,
    "saved": SAVED,
    "small": SMALL,
    "files": IN / "formats",
    "codes": "164889003 426783006 54329005 6374002 698252002 164909002 scp:NORM scp:IMI nonsense 251238007",
    "table": f"--codes {IN}/formats/codes.csv --set codes.id_column=record --set codes.code_column=code "
    "--set codes.patient_column=patient",
    "adc": "--set array.units=adc --set array.gain=204.8",
    "parts": "--set part_records=16",
    "labels": f"--data {SAVED}/corpus --labels {SAVED}/labels.csv",
    "train": "--set train.batch_size=8 --set train.precision=32-true",
    "as_before": "--set train.checkpoint_every=2 --set train.batch_size=8 --set train.precision=32-true",
}


def first(*places: str) -> Any:
    """Return the first of `module:name` that exists."""
    for place in places:
        module, _, name = place.partition(":")
        with contextlib.suppress(ImportError, AttributeError):
            return getattr(import_module(module), name)
    raise ImportError(f"none of {', '.join(places)}: add where it is now")


def ontologies() -> None:
    """Write what supervision computes, for every profile and rule."""
    import ecg_ontology

    rng = np.random.default_rng(0)
    for source in (None, "extended", str(SAVED / "extended.json")):
        for profile in ("paper", "curated"):
            onto = ecg_ontology.load(source, profile=profile)
            codes = sorted(onto.codes)
            records = [list(rng.choice(codes, rng.integers(1, 5))) for _ in range(300)]
            y = onto.leaf_multi_hot(records, strict=None)
            arrays = {f"soft-{sigma}": onto.soft_targets(y, sigma) for sigma in (0.5, 1.0, 2.0)}
            arrays |= {"y": y, "distances": onto.distances, "adjacency": onto.adjacency, "a_hat": onto.a_hat}
            name = f"{(source or 'packaged').replace('/', '_')[-30:]}-{profile}"
            np.savez(f"{name}.npz", primary=onto.primary(y), **arrays)
            routes = [f"{code}\t{onto.route(code).leaves}\t{onto.route(code).nodes}" for code in codes]
            Path(f"{name}.txt").write_text("\n".join([onto.sha256, *routes]))


def measured() -> None:
    """Read and measure 100 records."""
    find = first("marecg.read.discovery:find", "ecg_records.readers.discovery:find")
    measure = first("marecg.ecg.intervals:measure", "ecg_records.measurements.intervals:measure")
    features = first("marecg.ecg.measured:measure", "ecg_records.measurements.measured:measure")
    found = find([path for path in (IN / "formats" / "clinical", IN / "real") if any(path.iterdir())])
    lines, rows = [], []
    for candidate in found[:: max(1, len(found) // (30 if QUICK else 100))]:
        try:
            record = candidate.read()
        except Exception as error:  # noqa: BLE001 (the message is compared)
            lines.append(f"{candidate.name}\t{error}")
            continue
        x_CL = record.x_KL if hasattr(record, "x_KL") else record.signals
        values = measure(x_CL, record.fs, record.leads)
        about = (record.fs, record.leads, record.codes, record.age, record.sex, record.notes, x_CL.shape)
        total = float(np.abs(x_CL).sum())
        lines.append(f"{candidate.name}\t{about}\t{values._asdict()}\t{values.qtc()}\t{total!r}")
        if x_CL.shape[0] == 12 and record.fs == 500:
            rows.append(features(x_CL))
    Path("measured.txt").write_text("\n".join(lines))
    np.savez("features.npz", features=np.stack(rows))


def api() -> None:
    """Embed and predict arrays by Python, with saved and packaged models."""
    import marecg

    x_BCL = np.load(IN / "formats" / "arrays" / "a.npy")
    names = ["marecg-small", "marecg-small-codes", SAVED / "run", *sorted((SAVED / "models").iterdir())]
    for name in names[1:3] if QUICK else names:
        model = marecg.MarEcg.from_pretrained(name)
        result = {}
        for readout in ("rhythm", "wide", "beats", "full"):
            found = marecg.embed(model, x_BCL, fs=500, readout=readout)
            result |= {f"{readout}-{field}": value for field, value in found._asdict().items()}
        result["two"] = marecg.embed(model, x_BCL[:, [1, 6], ::5], fs=100, leads=("II", "V1")).rhythm
        np.savez(f"{Path(name).name}.npz", **result)
        parameters = [f"{key}\t{tuple(value.shape)}" for key, value in model.state_dict().items()]
        Path(f"{Path(name).name}.txt").write_text("\n".join(parameters))
    marecg.predict(SMALL, x_BCL, fs=500).to_frame().to_csv("shares.csv")
    embedder = marecg.EcgEmbedder(str(SMALL), fs=500, readout="full").fit(x_BCL)
    classifier = marecg.EcgClassifier.load(SAVED / "classifier")
    corpus = marecg.Corpus.open(SAVED / "corpus")
    arrays = {"embedded": embedder.transform(x_BCL), "probabilities": classifier.predict_proba(x_BCL)}
    np.savez("x.npz", **arrays, signals=corpus.signals(range(8)), y=corpus.y, n_valid=corpus.n_valid)


def helps() -> None:
    """Print the help of every command, found in the help of the programs."""
    waiting = ["ecgonto", "marecg"]
    while waiting:
        line = waiting.pop()
        _, text, _ = run([f"{line} --help"])
        Path(f"{line}.txt").write_text(text)
        if "COMMAND [ARGS]" in text:
            for panel in text.split("╭─ ")[1:]:
                if not panel.startswith(("Options", "Arguments")):
                    names = re.findall(r"^│ ([a-z][a-z-]*) ", panel, re.MULTILINE)
                    waiting += [f"{line} {name}" for name in names]


def run(lines: list[str]) -> tuple[int, str, str]:
    """Run the first of the command lines that a tree knows: its exit code and what it prints."""
    code, out, err = 0, io.StringIO(), io.StringIO()
    for line in lines:
        words = shlex.split(line)
        [program] = entry_points(group="console_scripts", name=words[0])
        out, err, sys.argv = io.StringIO(), io.StringIO(), words
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = program.load()() or 0
            except SystemExit as end:
                code = int(end.code or 0)
            except Exception:  # noqa: BLE001 (a traceback is a result)
                code = 70
                traceback.print_exc()
        if code != 2:
            break
    return code, out.getvalue(), err.getvalue()


def commands() -> dict[str, list[str]]:
    """Return the lines of every command by its name, without those whose condition isn't met."""
    there = {"full": not QUICK, "cases": (IN / "cases").exists(), "real": (IN / "real" / "ptbxl").exists()}
    steps: dict[str, list[str]] = {}
    name = ""
    for line in (Path(__file__).parent / "commands.txt").read_text().splitlines():
        if line.startswith(" ") and name in steps:
            steps[name].append(line.strip().format(**WORDS))
        elif found := re.fullmatch(r"(\S+) +(?:\[([a-z ]+)\] +)?(\w+ .*)", line.partition("#")[0]):
            name, conditions, command = found.groups()
            if all(there[condition] for condition in (conditions or "").split()):
                steps[name] = [command.format(**WORDS)]
    return steps


def main() -> None:
    """Run all steps, each in a folder of its own."""
    for path in (SAVED / "run", SAVED / "corpus", SAVED / "embeddings", IN / "ontology"):
        shutil.copytree(path, Path("copy") / path.name)
    next(Path("copy").glob("embeddings/part-*3.parquet")).unlink()
    snippets: list[Callable[[], None]] = [helps, ontologies, measured, api]
    here, times = Path.cwd(), {}
    for name, step in [*((each.__name__, each) for each in snippets), *commands().items()]:
        (here / name).mkdir()
        os.chdir(here / name)
        start = time.time()
        if isinstance(step, list):
            for file, text in zip(("exit", "stdout", "stderr"), map(str, run(step)), strict=True):
                Path(file).write_text(text)
        else:
            try:
                step()
            except Exception:  # noqa: BLE001 (a traceback is a result)
                Path("error").write_text(traceback.format_exc())
        times[name] = round(time.time() - start, 2)
        (here / "times.json").write_text(json.dumps(times, indent=1))


if __name__ == "__main__":
    main()
