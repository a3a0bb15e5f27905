"""Mutants: random changes of the product in one point, and those that no test notices.

`python -m tests.mutants --count 100 --seed 1` changes a copy of the tree, runs tests of the mirrored folder
that name the changed function, and prints what survives. A mutant counts as noticed if the test that fails
passes without it. mutmut and cosmic-ray try all mutants of a module; these packages have six thousand.
"""

import argparse
import ast
import difflib
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MARECG = Path("packages/marecg-model/src/marecg")
ROOMS = {
    **{MARECG / room: f"tests/marecg/{room}" for room in ("nn", "objectives", "corpus", "evaluate")},
    Path("packages/ecg-ontology/src/ecg_ontology"): "tests/ecg_ontology",
}
"""Folders that are changed: folders of their tests."""
IMPORTED = [
    "pytest",
    "torch",
    "pandas",
    "scipy.signal",
    "sklearn.linear_model",
    "lightning.pytorch",
    "rdflib",
]
"""Modules that are imported once, for all mutants."""
PAIRS = "Lt LtE,Gt GtE,Eq NotEq,In NotIn,Is IsNot,And Or,Add Sub,FloorDiv Mult,Mod Mult,Pow Mult,Mult Div"
SWAPPED = {name: other for pair in PAIRS.split(",") for name, other in (pair.split()[::-1], pair.split())}
MOST_FILES, WAITED = 3, 10
"""Test files that a mutant must pass; times its CPU time after which a test that only waits is ended."""


def swapped(operator: ast.AST) -> ast.AST:
    """Return the operator that takes the place of another."""
    name = type(operator).__name__
    return getattr(ast, SWAPPED.get(name, name))()


def mutant(node: ast.AST) -> ast.AST:
    """Return a node changed in one point, or itself where there is nothing to change."""
    changed: ast.AST = node
    match node:
        case ast.Compare(left, [operator], others):
            changed = ast.Compare(left, [swapped(operator)], others)
        # Of a path or a text it would only raise an error.
        case ast.BinOp(left, operator, right) if not re.search("f?['\"]", ast.unparse([left, right])):
            changed = ast.BinOp(left, swapped(operator), right)
        case ast.BoolOp(operator, values):
            changed = ast.BoolOp(swapped(operator), values)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            changed = operand
        case ast.Constant(bool() | int() | float() as value):
            changed = ast.Constant(not value if isinstance(value, bool) else value + 1)
        case ast.Return(ast.expr() as value) if not isinstance(value, ast.Constant):
            changed = ast.Return(ast.Constant(None))
    return changed


def places(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yield the nodes that can be changed, with the source that replaces them; no types, no messages."""
    for field, value in ast.iter_fields(node):
        for inner in value if isinstance(value, list) else [value]:
            skipped = ast.JoinedStr | ast.Raise | ast.Assert
            if field in ("annotation", "returns", "decorator_list") or isinstance(inner, skipped):
                continue
            if isinstance(inner, ast.expr | ast.stmt):
                new = ast.unparse(mutant(inner))
                if new != ast.unparse(inner):
                    yield inner, f"({new})" if isinstance(inner, ast.expr) else new
            if isinstance(inner, ast.AST):
                yield from places(inner)


def replaced(text: str, node: ast.expr | ast.stmt, new: str) -> str:
    """Return the source with one node replaced."""
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    first, last = node.lineno - 1, (node.end_lineno or 0) - 1
    before = b"".join(lines[:first]) + lines[first][: node.col_offset]
    after = lines[last][node.end_col_offset :] + b"".join(lines[last + 1 :])
    return (before + new.encode() + after).decode()


def tests_of(path: Path, line: int) -> list[str]:
    """Return the test files that name the changed function, else most of its module."""
    room = next(room for room in ROOMS if path.is_relative_to(room))
    nodes = ast.walk(ast.parse((ROOT / path).read_text()))
    spans = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    around = {name for name, node in spans.items() if node.lineno <= line <= (node.end_lineno or 0)}

    def mentions(test: Path) -> tuple[int, int]:
        words = set(re.findall(r"\w+", test.read_text()))
        return len(around & words), len({*spans, path.stem} & words)

    files = sorted((ROOT / ROOMS[room]).rglob("test_*.py"), key=mentions, reverse=True)
    return [str(test.relative_to(ROOT)) for test in files[:MOST_FILES]]


def run_tests(tree: Path, tests: list[str], limit_s: int) -> None:
    """Run tests in a copy of the tree; the exit code is pytest's."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
    os.chdir(tree)
    sources = [*map(str, tree.glob("packages/*/src")), f"{tree}/cli/src"]
    os.environ |= {"PYTHONPATH": os.pathsep.join(sources), "OMP_NUM_THREADS": "1"}
    sys.path[:0] = [str(tree), *sources]
    for stream in (1, 2):
        os.dup2(os.open(tree / "printed.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    quiet = ("-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "no:cacheprovider")
    sys.exit(int(pytest.main(["-x", "-q", *quiet, *tests])))


def tested(tree: Path, tests: list[str], limit_s: int) -> str:
    """Return how the tests ended: `failed`, `passed`, or `late` after the limit."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    process = context.Process(target=run_tests, args=(tree, tests, limit_s))
    process.start()
    process.join(WAITED * limit_s)
    if process.is_alive() and process.pid:
        os.killpg(process.pid, signal.SIGKILL)
        process.join()
    ends = {0: "passed", -signal.SIGXCPU: "late", -signal.SIGKILL: "late"}
    return ends.get(process.exitcode or 0, "failed")


def main() -> None:
    """Draw mutants, try them one after the other, and print those that no test notices."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit-s", type=int, default=40, help="CPU seconds of tests per mutant")
    asked = parser.parse_args()
    sources = sorted(path.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    every = [(path, *pair) for path in sources for pair in places(ast.parse((ROOT / path).read_text()))]
    drawn, noticed = random.Random(asked.seed).sample(every, asked.count), 0  # noqa: S311 (no secret)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
        for name in listed.stdout.splitlines():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tree / name)
        for path, node, new in drawn:
            text = (tree / path).read_text()
            (tree / path).write_text(replaced(text, node, new))
            end = tested(tree, tests_of(path, node.lineno), asked.limit_s)
            difference = difflib.unified_diff(text.split("\n"), (tree / path).read_text().split("\n"), n=1)
            (tree / path).write_text(text)
            names = re.findall(r"^(?:FAILED|ERROR) (\S+)", (tree / "printed.txt").read_text(), re.MULTILINE)
            if end == "failed" and tested(tree, names, asked.limit_s) != "passed":
                end = f"without it, too, {' '.join(names)} failed"
            noticed += end == "failed"
            lines = [] if end == "failed" else [line for line in difference if line[0] in "-+"][2:]
            sys.stdout.write("\n".join((f"{end} {path}:{node.lineno}", *lines, "")))
            sys.stdout.flush()
    sys.stdout.write(f"{noticed} of {len(drawn)} noticed, of {len(every)} possible\n")


if __name__ == "__main__":
    main()
