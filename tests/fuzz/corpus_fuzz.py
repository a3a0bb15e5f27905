"""Damaged sources by the thousand: no traceback, no hang, no read outside, every record accounted for.

    python -m tests.fuzz.corpus_fuzz [CASES] [SEED]

Each case takes a good source of one kind, damages one of its files at random, and prepares it. Every kind has
a process of its own, so that a library that dies of a file is noticed, and memory is counted apart; all are
forked from one that has paid for the imports. Python's audit hook sees every file that Python opens; HDF5 and
Arrow open those that they are given.
"""

import faulthandler
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz.damage import damaged
from tests.fuzz.sources import KINDS, LAYOUT

from marecg.base.config import CorpusConfig
from marecg.base.errors import EcgError
from marecg.corpus.prepare_record import prepare_block
from marecg.read.discovery import find

SLOWEST = 2.0
"""Seconds of processor time that one source may take."""
HANGS = 60.0
"""Seconds after which a process ends itself, whatever it is in."""
LARGEST = 1 << 30
"""Bytes by which a process may grow."""
MEMORY = 16 << 30
"""Bytes at which it gets no more: a file that asks for all there is shall not take the machine with it."""

IMPORTS = ("neurokit2", "wfdb", "marecg.corpus.prepare_record", "marecg.read.discovery", "tests.fuzz.sources")
"""What takes seconds to import, and minutes twenty times over on a busy machine."""

opened: list[str] = []


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    server = get_context("forkserver")
    server.set_forkserver_preload([*IMPORTS])
    broken = 0
    print(f"{'kind':17}{'cases':>6}{'slowest':>10}{'growth':>10}  what became of the records", flush=True)
    for number, kind in enumerate(KINDS):
        results, reached = server.SimpleQueue(), server.Value("i")
        share = cases // len(KINDS) + (number < cases % len(KINDS))
        process = server.Process(target=fuzz, args=(kind, share, seed, results, reached))
        process.start()
        process.join()
        if process.exitcode:
            broken += 1
            words = f"{kind:17} ended with {process.exitcode} in case {reached.value} of seed {seed}"
            print(words, flush=True)
        else:
            slowest, grown, fates = results.get()
            words = ", ".join(f"{count} {fate}" for fate, count in fates.most_common())
            print(f"{kind:17}{share:6}{slowest:8.2f} s{grown >> 20:7} MB  {words}", flush=True)
    print(f"{cases} damaged sources; {broken} of {len(KINDS)} kinds broke a promise")
    sys.exit(bool(broken))


def fuzz(kind: str, cases: int, seed: int, results: Any, reached: Any) -> None:
    """Damage a kind of source again and again; the first broken promise ends the process."""
    faulthandler.dump_traceback_later(HANGS, exit=True)  # of the first, undamaged source too
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
    fates: Counter[str] = Counter()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home).resolve() / "records"
        folder.mkdir()
        (folder.parent / "secret.mat").write_bytes(bytes(200_000))
        KINDS[kind](folder)
        good = {path.name: path.read_bytes() for path in folder.iterdir()}
        prepared(folder)  # imports open files of their own
        before = peak()
        for reached.value in range(cases):
            rng = np.random.default_rng((seed, reached.value))
            write(folder, good, rng)
            opened.clear()
            faulthandler.dump_traceback_later(HANGS, exit=True)
            start = time.process_time()
            fates.update(prepared(folder))
            slowest = max(slowest, time.process_time() - start)
            require(slowest < SLOWEST, f"took {slowest:.1f} s")
            require(peak() - before < LARGEST, "grew by more than 1 GB")
            outside = [path for path in opened if not Path(path).is_relative_to(folder)]
            outside = [path for path in outside if not path.endswith((".py", ".pyc", ".so"))]  # first imports
            require(not outside, f"read {outside}")
        faulthandler.cancel_dump_traceback_later()
    results.put((slowest, peak() - before, fates))


def write(folder: Path, good: dict[str, bytes], rng: np.random.Generator) -> None:
    """The good source with one file damaged, and now and then one missing."""
    harmed = str(rng.choice(sorted(good)))
    for name, content in good.items():
        (folder / name).write_bytes(damaged(name, content, rng) if name == harmed else content)
    if rng.random() < 0.02:
        (folder / str(rng.choice(sorted(good)))).unlink()


def prepared(folder: Path) -> list[str]:
    """What became of each record: `kept`, or the reason of its quarantine; or one refusal for all."""
    try:
        candidates = find([folder], layout=LAYOUT)
    except EcgError as error:
        return [f"refused as {type(error).__name__}"]
    block = prepare_block(candidates, CorpusConfig())
    require(len(block.rows) + len(block.quarantined) == len(candidates), "a record is lost or doubled")
    return ["kept"] * len(block.rows) + [each["reason"] for each in block.quarantined]


def require(holds: bool, otherwise: str) -> None:
    """End the process at the first case that breaks a promise."""
    if not holds:
        raise SystemExit(otherwise)


def peak() -> int:
    """The largest size that the process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
