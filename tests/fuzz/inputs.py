"""What the commands of the fault matrix read, each made when the first command needs it."""

import hashlib
import shutil
from collections.abc import Callable
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

import pyarrow.parquet as pq
from tests import forked
from tests.cli.calls import invoke
from tests.fuzz.commands import SETTINGS

AF = "164889003"
ONTOLOGY = Path(__file__).parents[2] / "ontology"
TRAIN = " ".join(f"--set {each}" for each in SETTINGS)


def _run(words: str) -> None:
    """In this process: its copies, which run the commands, then have what these import."""
    code, _, printed = invoke(*words.split())
    assert code == 0, f"{words}: {printed}"


def _synth(place: Path, name: str, options: str) -> None:
    _run(f"synth --out {place}/{name} {options}")


def _prepare(place: Path, name: str, source: str) -> None:
    _run(f"prepare {ensure(place, source)} --out {place}/{name} --jobs 1")


def _train(place: Path, name: str, recipe: str, data: str) -> None:
    _run(f"train --recipe {recipe} --data {ensure(place, data)} --out {place}/{name} {TRAIN}")


def _embeddings(place: Path) -> None:
    model, records = ensure(place, "run"), ensure(place, "records")
    _run(f"embed {model} {records} --out {place}/embeddings.parquet")


def _one(place: Path) -> None:
    """A record in a folder of its own, which is called as the folder is."""
    header = min(ensure(place, "records").rglob("*.hea"))
    (place / "one").mkdir()
    for ending in (".hea", ".mat"):
        content = header.with_suffix(ending).read_bytes().replace(header.stem.encode(), b"one")
        (place / "one" / f"one{ending}").write_bytes(content)


def _labels(place: Path) -> None:
    """A label of each record of `many`."""
    table = pq.read_table(ensure(place, "many") / "index.parquet", columns=["id", "codes"])
    lines = [f"{row['id']},{int(AF in row['codes'])}" for row in table.to_pylist()]
    (place / "labels.csv").write_text("\n".join(["record,af", *lines]) + "\n", encoding="utf-8")


_MANY = "--records 90 --seed 4 --diagnosis AF --diagnosis NSR"
MAKERS: dict[str, Callable[[Path], object]] = {
    "records": lambda place: _synth(place, "records", "--records 6 --seed 3"),
    "other": lambda place: _synth(place, "other", "--records 2 --seed 9"),
    "hearts": lambda place: _synth(place, "hearts", _MANY),
    "corpus": lambda place: _prepare(place, "corpus", "records"),
    "many": lambda place: _prepare(place, "many", "hearts"),
    "run": lambda place: _train(place, "run", "tiny", "corpus"),
    "embeddings.parquet": _embeddings,
    "one": _one,
    "labels.csv": _labels,
    "ontology": lambda place: shutil.copytree(ONTOLOGY, place / "ontology"),
}


def ensure(place: Path, name: str) -> Path:
    """The path of what a command reads, made if it isn't there."""
    if not (place / name).exists():
        MAKERS[name](place)
    return place / name


class Quiet(SimpleHTTPRequestHandler):
    """A file server that says nothing."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def serve_mirror(place: Path) -> tuple[str, int]:
    """Serve some records as the dataset `georgia`, from a process; its address and the process' id."""
    root = place / "mirror"
    for path in sorted(ensure(place, "records").rglob("*.*")):
        below = root / "training" / "georgia" / path.name
        below.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, below)
    files = sorted(path for path in root.rglob("*") if path.is_file())
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.relative_to(root)}" for path in files]
    (root / "SHA256SUMS.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    server = HTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(root)))
    pid = forked.start(server.serve_forever)
    server.server_close()
    return f"http://127.0.0.1:{server.server_port}", pid
