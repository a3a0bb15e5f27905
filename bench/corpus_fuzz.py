"""Damaged records by the thousand: no traceback, no hang, no read outside, every record accounted for.

    python -m bench.corpus_fuzz [CASES] [SEED]

Each case takes a good record, damages header and signal file at random, and prepares it. Python's own audit
hook sees every file that is opened.
"""

import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from marecg.config import LEADS, CorpusConfig
from marecg.data.discovery import find
from marecg.data.preparation import prepare_block

SLOWEST = 2.0
"""Seconds that one record may take."""
LARGEST = 1 << 30
"""Bytes by which the process may grow."""
FORMATS = (8, 16, 24, 32, 61, 80, 160, 212, 310, 311, 516)
NUMBERS = (
    "0",
    "-1",
    "1e309",
    "nan",
    "99999999999999999999",
    "0x10",
    "½",
    "1.2.3",
    "",
    "-",
    "16x3",
    "16+9999999",
)
PATHS = (
    "../secret.mat",
    "/etc/hostname",
    "..",
    "",
    "sub/x.mat",
    "~",
    "a b.mat",
    "\0",
    "x" * 5000,
    "s3://a/b",
)
WORDS = (
    "#",
    "#Dx:",
    "\r",
    "\n\n",
    "\t",
    "/",
    "(",
    "mV",
    "/uV",
    "é",
    "\x1b[31m",
    "V1",
    "I",
    "#Dx: 1,2,,,x" * 50,
)

opened: list[str] = []


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    rng = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError(f"over {SLOWEST} s")))
    fates: Counter[str] = Counter()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder).resolve() / "records"
        (Path(folder) / "secret.mat").write_bytes(bytes(200_000))
        run(inside, np.random.default_rng(0), lambda text, rng: text)  # imports open files of their own
        before = peak()
        for _ in range(cases):
            start = time.perf_counter()
            fates[run(inside, rng, damaged)] += 1
            slowest = max(slowest, time.perf_counter() - start)
            require(peak() - before < LARGEST, "grew by more than 1 GB")
    print(f"{cases} damaged records: no traceback, nothing read outside; the slowest took {slowest:.2f} s,")
    print(f"the process grew by {(peak() - before) >> 20} MB")
    for fate, count in fates.most_common():
        print(f"{count:8} {fate}")


def run(folder: Path, rng: np.random.Generator, damage: Callable[[str, np.random.Generator], str]) -> str:
    """Write one damaged record and prepare it: `kept`, or the reason of its quarantine."""
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    header, signal_file = folder / "A0001.hea", folder / "A0001.mat"
    lines = [
        "A0001 12 500 5000",
        *(f"A0001.mat 16+24 1000/mV 16 0 0 0 0 {lead}" for lead in LEADS),
        "#Dx: 426783006",
    ]
    header.write_bytes(damage("\n".join(lines), rng).encode("utf-8", "replace"))
    samples = bytearray(bytes(24) + rng.normal(0, 300, (5000, 12)).astype("<i2").tobytes())
    if damage is damaged and rng.random() < 0.3:
        samples = samples[: rng.integers(len(samples))]
    if damage is damaged and rng.random() < 0.2:
        samples[24 : 24 + rng.integers(len(samples) + 1)] = bytes(rng.integers(0, 256, 64, np.uint8))
    signal_file.write_bytes(samples)
    opened.clear()
    signal.setitimer(signal.ITIMER_REAL, SLOWEST)
    block = prepare_block(find([folder]), CorpusConfig())
    signal.setitimer(signal.ITIMER_REAL, 0)
    code = (".py", ".pyc", ".so")  # a first import
    outside = [path for path in opened if not path.endswith(code) and not Path(path).is_relative_to(folder)]
    require(not outside, f"read {outside}")
    require(len(block.rows) + len(block.quarantined) == 1, "a record is lost or doubled")
    return block.quarantined[0]["reason"] if block.quarantined else "kept"


def damaged(text: str, rng: np.random.Generator) -> str:
    """A header with one to four changes: a field, a line or a character gone, doubled, moved or replaced."""
    if rng.random() < 0.3:
        text = text.replace(" 16+24 ", f" {rng.choice(FORMATS)}+24 ")
    for _ in range(rng.integers(1, 5)):
        lines = text.split("\n")
        line = int(rng.integers(len(lines)))
        fields = lines[line].split(" ")
        field = int(rng.integers(len(fields)))
        match rng.integers(8):
            case 0:
                fields[field] = str(rng.choice(NUMBERS))
            case 1:
                fields[0] = str(rng.choice(PATHS))
            case 2:
                fields[field] += str(rng.choice(WORDS))
            case 3:
                del fields[field]
            case 4:
                fields.insert(field, str(rng.choice(WORDS)))
            case 5:
                lines.insert(line, lines[int(rng.integers(len(lines)))])
            case 6:
                fields[field] = "".join(rng.permutation(list(fields[field])))
            case 7:
                fields = [*fields[: field + 1], "".join(chr(c) for c in rng.integers(1, 1200, 3))]
        lines[line] = " ".join(fields)
        text = "\n".join(lines)
    return text


def require(holds: bool, otherwise: str) -> None:
    """Stop at the first case that breaks a promise."""
    if not holds:
        raise SystemExit(otherwise)


def peak() -> int:
    """The largest size that the process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
