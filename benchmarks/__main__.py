"""`python -m benchmarks [ROW…]`, and what stands in `COMMANDS` in place of rows; each has `--help`."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks import delineation, gpu, rates, rpeaks, scale, table
from benchmarks.ratio import FULL, QUICK
from ecg_base import replacing
from marecg.errors import EcgError


def main(argv: Sequence[str]) -> int:
    """Measure what the arguments name; the exit code is 2 where they name nothing that there is."""
    command, *rest = argv if argv and argv[0] in COMMANDS else ("rows", *argv)
    try:
        COMMANDS[command](rest)
    except EcgError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


def _rows(argv: Sequence[str]) -> None:
    """Speed as ratios, each against a named baseline in the same run: see docs/performance.md."""
    parser = ArgumentParser("python -m benchmarks", description=_rows.__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="by name; all without")
    parser.add_argument(
        "--quick", action="store_true", help="fewer repeats, smaller sizes: a glance, no proof"
    )
    parser.add_argument("--list", action="store_true", help="name the rows and measure none")
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    parser.add_argument("--out", type=Path, help="also write the JSON into a file")
    given = parser.parse_args(argv)
    rows, effort = table.choose(given.rows), QUICK if given.quick else FULL
    if given.list:
        print("\n".join(f"{row.name:<22}{row.reach!s:<8} {row.what} : {row.against}" for row in rows))
        return
    measured = []
    for each in table.measure(rows, effort):
        measured.append(each)
        print(table.as_text(each), file=sys.stdout if given.format == "text" else sys.stderr, flush=True)
    if given.format == "markdown":
        print(table.as_markdown(measured))
    _finish(given, table.as_json(measured, effort))


def _gpu(argv: Sequence[str]) -> None:
    """How much of a GPU's matrix product a pretraining step reaches."""
    parser = ArgumentParser("python -m benchmarks gpu", description=_gpu.__doc__)
    parser.add_argument("--device", default="cuda", help="cuda, or cpu, which only shows that it runs")
    parser.add_argument("--tiny", action="store_true", help="the tiny recipes and a small product")
    parser.add_argument("--batch-size", type=int, default=8, help="records per micro-batch")
    parser.add_argument("--steps", type=int, default=20, help="steps that are timed")
    parser.add_argument("--recipe", nargs="+", choices=gpu.RECIPES, default=gpu.RECIPES)
    parser.add_argument("--variant", nargs="+", choices=tuple(gpu.VARIANTS), default=tuple(gpu.VARIANTS))
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument(
        "--out", type=Path, help="also write the JSON into a file, anew after each measurement"
    )
    given = parser.parse_args(argv)

    def say(line: str) -> None:
        print(line, file=sys.stdout if given.format == "text" else sys.stderr, flush=True)

    device, sizes = gpu.device_named(given.device), (given.batch_size, given.steps)
    results = gpu.pretraining(
        device,
        given.recipe,
        given.variant,
        *sizes,
        say,
        lambda results: _write(given.out, results),
        tiny=given.tiny,
    )
    _finish(given, results)


def _rpeaks(argv: Sequence[str]) -> None:
    """The R-peak detectors on synthetic records whose every beat is known."""
    parser = ArgumentParser("python -m benchmarks rpeaks", description=_rpeaks.__doc__)
    parser.add_argument("--records", type=int, default=400, help="synthetic records")
    parser.add_argument("--ludb", type=Path, help="LUDB's data folder, in place of synthetic records")
    parser.add_argument("--folder", type=Path, nargs="+", help="labelled records, likewise")
    parser.add_argument("--limit", type=int, default=100_000, help="records per folder")
    given = parser.parse_args(argv)
    real = [rates.ludb(given.ludb)] if given.ludb else []
    real += [rates.by_label(given.folder, given.limit)] if given.folder else []
    for line in chain.from_iterable(real) if real else rpeaks.table(given.records):
        print(line)


def _scale(argv: Sequence[str]) -> None:
    """A start on millions of simulated records: seconds and memory of each stage."""
    parser = ArgumentParser("python -m benchmarks scale", description=_scale.__doc__)
    parser.add_argument("folder", type=Path, help="a new folder; the simulated corpus stays in it")
    parser.add_argument("--records", type=int, default=10_000_000)
    given = parser.parse_args(argv)
    print(json.dumps(scale.scale(given.folder, given.records), indent=2))


def _delineation(argv: Sequence[str]) -> None:
    """Intervals against those that people marked, see docs/evaluation/delineation.md."""
    parser = ArgumentParser("python -m benchmarks delineation", description=_delineation.__doc__)
    parser.add_argument("--ludb", type=Path, help="LUDB's data folder, with its annotations")
    parser.add_argument("--ptbxl", type=Path, help="PTB-XL's folder")
    parser.add_argument("--machines", type=Path, help="a folder of hospital files that hold measurements")
    parser.add_argument("--rank", type=int, default=1, help="0: from the earliest to the latest lead")
    parser.add_argument("--limit", type=int, default=10_000, help="records per statement of PTB-XL")
    given = parser.parse_args(argv)
    lines = [delineation.ludb(given.ludb, given.rank)] if given.ludb else []
    lines += [delineation.ptbxl(given.ptbxl, given.limit)] if given.ptbxl else []
    lines += [delineation.machines(given.machines)] if given.machines else []
    for each in lines:
        for line in each:
            print(line, flush=True)


def _finish(given: Namespace, results: Mapping[str, Any]) -> None:
    _write(given.out, results)
    if given.format == "json":
        print(json.dumps(results, indent=2))


def _write(out: Path | None, results: Mapping[str, Any]) -> None:
    if out is not None:
        with replacing(out) as temporary:
            temporary.write_text(json.dumps(results, indent=2), encoding="utf-8")


COMMANDS = {"delineation": _delineation, "rows": _rows, "gpu": _gpu, "rpeaks": _rpeaks, "scale": _scale}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
