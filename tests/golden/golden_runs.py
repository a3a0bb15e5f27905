"""Runs whose every figure is known: three steps of the five tiny recipes.

    python -m tests.golden.golden_runs check      compare with what lies here; exit 1 where it differs
    python -m tests.golden.golden_runs write      make it anew, after a change meant to change figures

On the machine that wrote them (the same processor, vector units and torch) the bytes are the same; elsewhere
rounding differs, and the figures agree to a relative tolerance. Another release of torch draws other initial
weights (2.13 has another `trunc_normal_` than 2.11), and nothing can be compared.
"""

import json
import sys
import tempfile
import warnings
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from ecg_synth import write_corpus
from marecg.corpus.prepare import prepare
from marecg.recipes import by_name
from marecg.recipes.overrides import override
from marecg.train.run import train

HERE = Path(__file__).parent
RECIPES = ("tiny-c1", "tiny", "tiny-c2p", "tiny-c2", "tiny-c3")
STEPS = 3
TOLERANCE = 1e-3
"""Relative, on another machine: rounding grows with the steps."""


def corpus(folder: Path) -> Path:
    """Forty synthetic records, prepared."""
    write_corpus(folder / "wfdb", 40, 3)
    prepare([folder / "wfdb"], folder / "prepared", jobs=1)
    return folder / "prepared"


def metrics(recipe: str, data: Path, run: Path) -> str:
    """The metrics.csv of a run of one tiny recipe."""
    sizes = [
        f"train.max_steps={STEPS}",
        "train.batch_size=8",
        "train.global_batch_size=8",
        "train.seed=0",
        "train.precision=32-true",
    ]
    train(override(by_name(recipe), sizes), data, run)
    return (run / "metrics.csv").read_text(encoding="utf-8")


def stored(recipe: str) -> Path:
    """Where the metrics of a recipe lie."""
    return HERE / f"{recipe}-3-steps.csv"


def differences(
    name: str, made: str, golden: str, machine: dict[str, str], wrote: dict[str, str]
) -> Iterator[str]:
    """What differs: bytes if `machine` is the one that wrote them, figures beyond a tolerance elsewhere."""
    if machine == wrote:
        if made != golden:
            lines = zip(made.splitlines(), golden.splitlines(), strict=False)
            first = next((n for n, (one, other) in enumerate(lines, 1) if one != other), "the end")
            yield f"{name}: differs from line {first} on"
        return
    ours, theirs = (pd.read_csv(StringIO(text)) for text in (made, golden))
    if ours.shape != theirs.shape or any(ours.columns != theirs.columns):
        yield f"{name}: {ours.shape} figures for {theirs.shape}, or of other columns"
        return
    same = np.isclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE / 100, equal_nan=True)
    for row, column in np.argwhere(~same):
        is_now, was = ours.iat[row, column], theirs.iat[row, column]
        yield f"{name}: row {row + 1}, {ours.columns[column]} is {is_now}, was {was}"


def here() -> dict[str, str]:
    """What the last bits depend on. Virtual machines give several generations of a processor one name."""
    cpuinfo = Path("/proc/cpuinfo")
    first = cpuinfo.read_text(encoding="utf-8").partition("\n\n")[0] if cpuinfo.exists() else ""
    fields = {
        key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())
    }
    return {
        "cpu": fields.get("model name", ""),
        "family": fields.get("cpu family", ""),
        "model": fields.get("model", ""),
        "vectors": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__,
    }


def same_draws() -> bool:
    """Whether this torch is of the release that the golden runs drew their weights with."""
    ours, theirs = (machine["torch"].split(".")[:2] for machine in (here(), wrote()))
    return ours == theirs


def wrote() -> dict[str, str]:
    """The machine of the golden runs."""
    machine: dict[str, str] = json.loads((HERE / "machine.json").read_text(encoding="utf-8"))
    return machine


def main(action: str) -> int:
    """Make everything, and write or compare it."""
    if action == "check" and not same_draws():
        sys.exit(f"the golden runs are of torch {wrote()['torch']}, whose initial weights are others")
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    changed: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        data = corpus(folder)
        texts = {recipe: metrics(recipe, data, folder / recipe) for recipe in RECIPES}
    for recipe, text in texts.items():
        if action == "write":
            stored(recipe).write_text(text, encoding="utf-8")
        else:
            changed += differences(recipe, text, stored(recipe).read_text(encoding="utf-8"), here(), wrote())
    if action == "write":
        (HERE / "machine.json").write_text(json.dumps(here(), indent=1) + "\n", encoding="utf-8")
    sys.stderr.writelines(f"{line}\n" for line in changed[:20])
    return bool(changed)


if __name__ == "__main__":
    if sys.argv[1:] not in (["check"], ["write"]):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
