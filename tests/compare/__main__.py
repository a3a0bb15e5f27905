"""Compare what two environments compute, byte by byte.

    python -m tests.compare --old OLD/.venv --new NEW/.venv --out FOLDER [--quick]
        [--realdata UNPACKED] [--cases FOLDER]

The old environment makes inputs and saved folders once (`made.py`, `FOLDER/inputs`). Both run the same
commands and the same Python (`commands.txt`, `steps.py`) in `FOLDER/work`, one after the other, so that
absolute paths are the same. Results are kept in `FOLDER/NAME-MODE`, named by the environment's parent folder;
the old ones are used again while its commit is the same. What differs between two runs of one tree, or was
changed on purpose, is in `differs.txt`. Exit code 1 if any other computed value differs. Printed text,
messages and help have sections of their own.
"""

import argparse
import csv
import difflib
import fcntl
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections import defaultdict
from fnmatch import fnmatchcase as fnmatch
from pathlib import Path

import onnx
import rdflib
from rdflib.compare import to_canonical_graph

HERE = Path(__file__).parent
PASSED_OVER = [
    tuple(line.split(" ; "))
    for line in (HERE / "differs.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
"""Names of files, what is passed over in them (`*`: everything) and why."""
KEPT_WITH_A_CORPUS = ("corpus-embedding", "corpus/supervision/checked.json")
"""What `classify fit` and `train` write for the next time. It is removed, so that each tree starts anew."""
SURROUNDINGS = {
    **{"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "HF_HUB_OFFLINE": "1", "SOURCE_DATE_EPOCH": "0"},
    **{"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb", "LANG": "C.UTF-8", "TZ": "UTC"},
}


def root(environment: Path) -> Path:
    return environment.absolute().parent


def commit(environment: Path) -> str:
    """Return the commit of the environment's checkout, and a digest of what isn't committed."""
    git = ["git", "-C", str(root(environment))]
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    changes = subprocess.run([*git, "diff", "HEAD"], capture_output=True, text=True, check=True)
    return f"{head.stdout.strip()} {hashlib.sha256(changes.stdout.encode()).hexdigest()[:8]}"


def call(environment: Path, script: str, *arguments: object, where: Path, log: Path) -> None:
    """Run a script with an environment's Python, and little else of the caller's surroundings."""
    variables = SURROUNDINGS | dict.fromkeys(("MARECG_CACHE", "ECG_RECORDS_CACHE"), str(where / "cache"))
    names = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")
    variables |= {name: os.environ[name] for name in names if name in os.environ}
    if script == "made.py":
        variables["PYTHONPATH"] = str(root(environment))
    command = [environment.absolute() / "bin" / "python", HERE / script, *map(str, arguments)]
    with log.open("w") as file:
        done = subprocess.run(
            command, cwd=where, env=variables, stdout=file, stderr=subprocess.STDOUT, check=False
        )
    if done.returncode:
        sys.exit(f"{script} fails with {environment}: {log}\n{log.read_text()[-2000:]}")


def results(environment: Path, out: Path, mode: str, *, again: bool) -> Path:
    """Return the folder with all that an environment computes; kept results of the same commit are used."""
    kept, state = out / f"{root(environment).name}-{mode}", f"{commit(environment)} {mode}"
    note = kept / "commit"
    if not again and note.exists() and note.read_text() == state:
        return kept
    work = out / "work"
    for folder in (kept, work):
        shutil.rmtree(folder, ignore_errors=True)
    work.mkdir()
    call(environment, "steps.py", out / "inputs", mode, where=work, log=out / "steps.log")
    for name in KEPT_WITH_A_CORPUS:
        path = out / "inputs" / "saved" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    if digest(out / "inputs") != (out / "inputs" / "whole").read_text():
        sys.exit("a step has changed the inputs: remove the folder inputs, and let it write elsewhere")
    shutil.rmtree(work / "cache", ignore_errors=True)
    work.rename(kept)
    note.write_text(state)
    return kept


def digest(folder: Path) -> str:
    """Return a hash of all files of a folder but `whole`, which holds it."""
    total = hashlib.sha256()
    for name, path in files(folder).items():
        if name != "whole":
            total.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def files(folder: Path) -> dict[str, Path]:
    return {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}


def passed_over(name: str) -> list[tuple[str, str]]:
    """Return what may differ in a file, and why."""
    return [
        (what, why)
        for names, what, why in PASSED_OVER
        if any(fnmatch(name, each) for each in names.split("|"))
    ]


def plain(name: str, content: bytes) -> bytes:
    """Return content without what may differ."""
    for differs, _ in passed_over(name):
        if differs != "*":
            content = re.sub(differs.encode(), b"", content)
    if name.endswith((".owl", ".jsonld")):  # the order of what they say is drawn anew each time
        graph = rdflib.Graph().parse(data=content, format="json-ld" if name.endswith("d") else "xml")
        content = b"\n".join(sorted(to_canonical_graph(graph).serialize(format="nt").encode().splitlines()))
    if name.endswith(".onnx"):  # modules are named in it by the files that define them
        model = onnx.load_from_string(content)
        for part in (model, model.graph, *model.graph.node, *model.graph.value_info, *model.graph.input):
            del part.metadata_props[:]
        content = model.SerializeToString()
    if name.endswith(".safetensors"):  # the order of its metadata is drawn anew each time
        size = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + size])
        content = json.dumps(header, sort_keys=True).encode() + content[8 + size :]
    return content


def explained(name: str, old: bytes, new: bytes) -> str:
    """Describe a difference: of arrays the largest, of tables by column, of text the first lines."""
    try:
        if name.endswith((".npy", ".npz", ".safetensors", ".parquet", ".csv")):
            first, second = arrays(name, old), arrays(name, new)
            lines = [f"only on one side: {key}" for key in sorted(first.keys() ^ second.keys())]
            for key in first.keys() & second.keys():
                lines += difference(key, first[key], second[key])
            return "\n".join(lines[:12]) or "the same values in other bytes"
        texts = old.decode().splitlines(), new.decode().splitlines()
    except (ValueError, UnicodeDecodeError, zipfile.BadZipFile):
        return f"{len(old)} and {len(new)} bytes"
    lines = [line[:300] for line in difflib.unified_diff(*texts, "old", "new", lineterm="", n=0)][2:]
    return "\n".join(lines[:8]) + (f"\n… {len(lines) - 8} lines more" if len(lines) > 8 else "")


def arrays(name: str, content: bytes) -> dict[str, object]:
    import numpy as np

    if name.endswith(".csv"):
        rows = list(csv.reader(content.decode().splitlines()))
        return dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
    if name.endswith(".parquet"):
        import pyarrow.parquet as pq

        table = pq.read_table(io.BytesIO(content))
        return {**{key: table[key] for key in table.column_names}, "metadata": str(table.schema.metadata)}
    if name.endswith(".safetensors"):
        from safetensors.numpy import load

        return dict(load(content))
    loaded = np.load(io.BytesIO(content))
    return dict(loaded) if name.endswith(".npz") else {"array": loaded}


def difference(key: str, old: object, new: object) -> list[str]:
    import numpy as np

    if not isinstance(old, np.ndarray):
        pairs = zip(old, new, strict=False) if not isinstance(old, str) else [(old, new)]
        if len(old) != len(new):
            return [f"{key}: {len(old)} rows, now {len(new)}"]
        apart = [(row, *map(str, pair)) for row, pair in enumerate(pairs) if pair[0] != pair[1]]
        return [f"{key}: {len(apart)} rows, the first {str(apart[:1])[:200]}"] if apart else []
    if old.shape != new.shape or old.dtype != new.dtype:
        return [f"{key}: {old.dtype} {old.shape}, now {new.dtype} {new.shape}"]
    if old.dtype.kind not in "fiub":
        return [] if old.tobytes() == new.tobytes() else [f"{key}: other values"]
    if old.tobytes() == new.tobytes():
        return []
    apart = np.abs(old.astype(float) - new.astype(float))
    return [f"{key}: {np.count_nonzero(apart)} of {apart.size} values, by {np.nanmax(apart):.3g} at most"]


def section(name: str) -> str:
    """Return where in the report a file's difference stands."""
    if name.startswith("helps/"):
        return "help"
    return {"stdout": "printed", "stderr": "messages"}.get(Path(name).name, "values")


def compared(old: Path, new: Path) -> dict[str, list[str]]:
    """Return the differences of two folders of results by section."""
    found: dict[str, list[str]] = defaultdict(list)
    seen: dict[str, str] = {}
    both = files(old), files(new)
    for name in sorted((both[0].keys() | both[1].keys()) - {"times.json", "commit"}):
        contents = [folder[name].read_bytes() if name in folder else None for folder in both]
        if contents[0] == contents[1]:
            continue
        if why := [why for what, why in passed_over(name) if what == "*"]:
            found["meant"].append(f"{name}: {why[0]}")
        elif None in contents:
            found[section(name)].append(f"{name}: only {'new' if contents[0] is None else 'old'}")
        elif (was := plain(name, contents[0])) != (now := plain(name, contents[1])):
            texts = contents if name.endswith(".safetensors") else (was, now)
            what = explained(name, *texts)
            same = seen.setdefault(what, name)
            what = what if same == name else f"as {same}"
            found[section(name)].append(f"{name}\n{what}".replace("\n", "\n    "))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("--old", "--new", "--out"):
        parser.add_argument(name, type=Path, required=True)
    for name in ("--realdata", "--cases"):
        parser.add_argument(name, type=Path, help="used when inputs are made")
    parser.add_argument("--quick", action="store_true", help="leave out the slow steps")
    parser.add_argument("--again", action="store_true", help="compute the old results anew")
    parser.add_argument("--report", action="store_true", help="compare kept results once more")
    asked = parser.parse_args()
    out = asked.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    with (out / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (out / "inputs" / "whole").exists():
            shutil.rmtree(out / "inputs", ignore_errors=True)
            data = [path.absolute() if path else "" for path in (asked.realdata, asked.cases)]
            call(
                asked.old, "made.py", out / "inputs", root(asked.old), *data, where=out, log=out / "made.log"
            )
            (out / "inputs" / "whole").write_text(digest(out / "inputs"))
        mode = "quick" if asked.quick else "full"
        old = results(asked.old, out, mode, again=asked.again)
        if asked.old.absolute() == asked.new.absolute():  # what differs of itself
            old = old.rename(shutil.rmtree(out / "itself", ignore_errors=True) or out / "itself")
        new = out / f"{root(asked.new).name}-{mode}"
        new = new if asked.report else results(asked.new, out, mode, again=True)
        found = compared(old, new)
    lines = [f"{old.name} ({(old / 'commit').read_text()}) and {new.name} ({(new / 'commit').read_text()})"]
    for name in ("values", "printed", "messages", "help", "meant"):
        lines += [f"\n== {name}: {len(found[name])} files differ", *found[name]]
    report = out / f"report-{new.name}.txt"
    report.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write("\n".join(lines)[:6000] + f"\n\n{report}\n")
    return bool(found["values"])


if __name__ == "__main__":
    sys.exit(main())
