"""Kill `marecg prepare`, `train` and `embed` at random moments: they leave what unbroken ones do.

    python -m tests.fuzz.kills --count 40 --seed 1

Each kill is one of KILL, TERM, INT, STOP with CONT, and STOP with TERM and CONT, as a scheduler does it that
suspends before it preempts. After each the same command is given again.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from marecg_cli.marecg import main as marecg

SETTINGS = (
    *("model.width=16", "model.depth=1", "model.heads=2", "ar.width=8", "ar.depth=1", "ar.heads=1"),
    *("train.batch_size=2", "train.accumulate=1", "train.max_steps=24", "train.checkpoint_every=3"),
)
CODES = {
    "KILL": {-signal.SIGKILL},
    "TERM": {-signal.SIGTERM, 143},
    "INT": {-signal.SIGINT, 130},
    "STOP CONT": {0},
    "STOP TERM CONT": {-signal.SIGTERM, 143},
}
"""How a command may end after which kill; one that was ready before ends with 0."""


@dataclass(frozen=True)
class Killed:
    """A command that may be killed.

    Attributes:
        name: what it is.
        argv: its arguments, given where it writes.
        left: what must be the same however often it was killed, by name, given where it wrote.
    """

    name: str
    argv: Callable[[Path], list[str]]
    left: Callable[[Path], dict[str, bytes]]


def prepare(records: Path) -> Killed:
    """`marecg prepare` of a folder of records, in small shards; every file it leaves counts."""

    def left(out: Path) -> dict[str, bytes]:
        return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}

    return Killed(
        "prepare",
        lambda out: ["prepare", str(records), "--out", str(out), "--jobs", "1", "--set", "shard=3"],
        left,
    )


def train(corpus: Path) -> Killed:
    """`marecg train` of a very small model; its losses and its weights count."""
    settings = [f"--set={each}" for each in SETTINGS]
    return Killed(
        "train",
        lambda out: ["train", "--recipe", "tiny", "--data", str(corpus), "--out", str(out), *settings],
        lambda out: {name: (out / name).read_bytes() for name in ("metrics.csv", "model/model.safetensors")},
    )


def embed(records: Path, model: Path) -> Killed:
    """`marecg embed` into a folder of small parts, all of which count."""

    def left(out: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in out.iterdir()}

    return Killed(
        "embed",
        lambda out: ["embed", str(model), str(records), "--out", f"{out}/", "--set", "part_records=2"],
        left,
    )


def start(argv: Sequence[str], said: str = os.devnull, surround: Callable[[], object] = bool) -> int:
    """Run a command in a copy of this process, which has paid for the imports; its id.

    Args:
        argv: the command's arguments.
        said: the file that takes what it says.
        surround: what is called in the copy before it.
    """
    sys.stdout.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # it waits until it is caught below
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return pid
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job has it ignored
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.stdout, sys.stderr = (open(place, "w", 1, closefd=False) for place in (1, 2))  # noqa: SIM115
        surround()
        marecg(list(argv))
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:  # before the command has begun: Python ends a process so that a shell sees 130
        code = 130
    except BaseException:  # noqa: BLE001 (whatever it is, it is told)
        traceback.print_exc()
    finally:
        os._exit(code)


def send(pid: int, kill: str) -> None:
    """Kill in one of the ways; what is over already is left in peace."""
    for name in kill.split():
        os.kill(pid, getattr(signal, f"SIG{name}"))
        if name == "STOP":
            time.sleep(0.1)


def hold(command: Killed, folder: Path, count: int, rng: random.Random) -> Counter[str]:
    """Kill a command `count` times, beginning again wherever it came to its end.

    Returns:
        How often it was killed in which way; `ready before` where it was quicker.
    """
    whole = folder / f"{command.name}-whole"
    began = time.monotonic()
    code = os.waitstatus_to_exitcode(os.waitpid(start(command.argv(whole)), 0)[1])
    took = time.monotonic() - began
    assert code == 0, f"{command.name}: exit code {code}, unkilled"
    expected = command.left(whole)
    seen: Counter[str] = Counter()
    out, number = folder / f"{command.name}-0", 0
    while seen.total() - seen["ready before"] < count:
        kill = rng.choice(list(CODES))
        pid = start(command.argv(out), str(folder / "said.txt"))
        time.sleep(rng.uniform(0, took))
        send(pid, kill)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        said = (folder / "said.txt").read_text(errors="replace") if (folder / "said.txt").exists() else ""
        assert code in CODES[kill] | {0}, f"{command.name}: exit code {code} after {kill}\n{said}"
        seen[kill if code or kill == "STOP CONT" else "ready before"] += 1
        if code == 0:
            assert command.left(out) == expected, f"{out}: another result after {dict(seen)}"
            number += 1
            out = folder / f"{command.name}-{number}"
    code = os.waitstatus_to_exitcode(os.waitpid(start(command.argv(out)), 0)[1])
    assert code == 0, f"{command.name}: exit code {code} after {dict(seen)}"
    assert command.left(out) == expected, f"{out}: another result after {dict(seen)}"
    return seen


def attack(folder: Path, count: int, seed: int) -> dict[str, Counter[str]]:
    """Kill each of the commands; by name, how often in which way."""
    rng = random.Random(seed)  # noqa: S311 (no secret)
    records, corpus, model = folder / "records", folder / "corpus", folder / "train-whole"
    for argv in (
        ["synth", "--out", str(records), "--records", "12", "--seed", "3"],
        ["prepare", str(records), "--out", str(corpus), "--jobs", "1"],
    ):
        assert os.waitstatus_to_exitcode(os.waitpid(start(argv), 0)[1]) == 0
    return {
        each.name: hold(each, folder, count, rng)
        for each in (prepare(records), train(corpus), embed(records, model))
    }


def main() -> None:
    """Read the arguments and print how often what was killed."""
    parser = argparse.ArgumentParser(description="Kill prepare, train and embed at random moments.")
    parser.add_argument("--count", type=int, default=20, help="kills of each command")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    import marecg.corpus.prepare
    import marecg.train.run
    import marecg.use.embed_records  # noqa: F401

    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for name, seen in attack(Path(folder), given.count, given.seed).items():
            told = ", ".join(f"{kill} {times}" for kill, times in sorted(seen.items()))
            print(f"{name}: {told}; equal bytes every time")
    print(f"{time.monotonic() - began:.0f} s, seed {given.seed}")


if __name__ == "__main__":
    main()
