"""Run benchmarks: `python -m benchmarks [ROW…]`, or `python -m benchmarks COMMAND`, as in `COMMANDS`."""

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
    """Run a command and return the exit code, which is 2 if an argument is invalid."""
    command, *rest = argv if argv and argv[0] in COMMANDS else ("rows", *argv)
    try:
        COMMANDS[command](rest)
    except EcgError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


def _rows(argv: Sequence[str]) -> None:
    """Measure speed as ratios to baselines in the same run (docs/performance.md)."""
    parser = ArgumentParser("python -m benchmarks", description=_rows.__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="names of rows; all rows if omitted")
    parser.add_argument(
        "--quick", action="store_true", help="fewer repeats and smaller sizes, for a rough estimate"
    )
    parser.add_argument("--list", action="store_true", help="list the rows without measuring them")
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    parser.add_argument("--out", type=Path, help="also write the JSON to this file")
    arguments = parser.parse_args(argv)
    rows, effort = table.choose(arguments.rows), QUICK if arguments.quick else FULL
    if arguments.list:
        print("\n".join(f"{row.name:<22}{row.reach!s:<8} {row.what} : {row.against}" for row in rows))
        return
    measured = []
    for each in table.measure(rows, effort):
        measured.append(each)
        stream = sys.stdout if arguments.format == "text" else sys.stderr
        print(table.as_text(each), file=stream, flush=True)
    if arguments.format == "markdown":
        print(table.as_markdown(measured))
    _finish(arguments, table.as_json(measured, effort))


def _gpu(argv: Sequence[str]) -> None:
    """Measure the speed of pretraining on a GPU, relative to a matrix product."""
    parser = ArgumentParser("python -m benchmarks gpu", description=_gpu.__doc__)
    parser.add_argument("--device", default="cuda", help="cuda, or cpu to check that the command works")
    parser.add_argument("--tiny", action="store_true", help="use the tiny recipes and a small product")
    parser.add_argument("--batch-size", type=int, default=8, help="records per micro-batch")
    parser.add_argument("--steps", type=int, default=20, help="number of timed steps")
    parser.add_argument("--recipe", nargs="+", choices=gpu.RECIPES, default=gpu.RECIPES)
    parser.add_argument("--variant", nargs="+", choices=tuple(gpu.VARIANTS), default=tuple(gpu.VARIANTS))
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--out", type=Path, help="also write the JSON to this file, after each measurement")
    arguments = parser.parse_args(argv)

    def report(line: str) -> None:
        print(line, file=sys.stdout if arguments.format == "text" else sys.stderr, flush=True)

    device, sizes = gpu.device_named(arguments.device), (arguments.batch_size, arguments.steps)
    results = gpu.pretraining(
        device,
        arguments.recipe,
        arguments.variant,
        *sizes,
        report,
        lambda results: _write(arguments.out, results),
        tiny=arguments.tiny,
    )
    _finish(arguments, results)


def _rpeaks(argv: Sequence[str]) -> None:
    """Evaluate the R-peak detectors on synthetic records, or on annotated or labelled records."""
    parser = ArgumentParser("python -m benchmarks rpeaks", description=_rpeaks.__doc__)
    parser.add_argument("--records", type=int, default=400, help="number of synthetic records")
    parser.add_argument("--ludb", type=Path, help="LUDB's data folder, instead of synthetic records")
    parser.add_argument(
        "--folder", type=Path, nargs="+", help="labelled records, instead of synthetic records"
    )
    parser.add_argument("--limit", type=int, default=100_000, help="maximum number of records per folder")
    arguments = parser.parse_args(argv)
    real = [rates.ludb(arguments.ludb)] if arguments.ludb else []
    real += [rates.by_label(arguments.folder, arguments.limit)] if arguments.folder else []
    for line in chain.from_iterable(real) if real else rpeaks.table(arguments.records):
        print(line)


def _scale(argv: Sequence[str]) -> None:
    """Measure the time and memory of starting a training on millions of simulated records."""
    parser = ArgumentParser("python -m benchmarks scale", description=_scale.__doc__)
    parser.add_argument("folder", type=Path, help="folder for the simulated corpus, which isn't removed")
    parser.add_argument("--records", type=int, default=10_000_000)
    arguments = parser.parse_args(argv)
    print(json.dumps(scale.scale(arguments.folder, arguments.records), indent=2))


def _delineation(argv: Sequence[str]) -> None:
    """Compare measured intervals with marks of cardiologists (docs/evaluation/delineation.md)."""
    parser = ArgumentParser("python -m benchmarks delineation", description=_delineation.__doc__)
    parser.add_argument("--ludb", type=Path, help="LUDB's data folder, with its annotations")
    parser.add_argument("--ptbxl", type=Path, help="PTB-XL's folder")
    parser.add_argument("--machines", type=Path, help="folder of device files with measurements")
    parser.add_argument("--rank", type=int, default=1, help="number of leads to ignore at either end")
    parser.add_argument(
        "--limit", type=int, default=10_000, help="maximum number of records per statement of PTB-XL"
    )
    arguments = parser.parse_args(argv)
    lines = [delineation.ludb(arguments.ludb, arguments.rank)] if arguments.ludb else []
    lines += [delineation.ptbxl(arguments.ptbxl, arguments.limit)] if arguments.ptbxl else []
    lines += [delineation.machines(arguments.machines)] if arguments.machines else []
    for each in lines:
        for line in each:
            print(line, flush=True)


def _finish(arguments: Namespace, results: Mapping[str, Any]) -> None:
    _write(arguments.out, results)
    if arguments.format == "json":
        print(json.dumps(results, indent=2))


def _write(out: Path | None, results: Mapping[str, Any]) -> None:
    if out is not None:
        with replacing(out) as temporary:
            temporary.write_text(json.dumps(results, indent=2), encoding="utf-8")


COMMANDS = {"delineation": _delineation, "rows": _rows, "gpu": _gpu, "rpeaks": _rpeaks, "scale": _scale}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
