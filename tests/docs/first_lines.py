"""First lines of docstrings, for a reader who judges whether each is understood at once.

`python -m tests.docs.first_lines` lists fifty, drawn with seed 4; `--all` lists every one.
"""

import ast
import random
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = (*sorted(ROOT.glob("packages/*/src")), ROOT / "cli" / "src")
SEED, DRAWN = 4, 50


def first_lines() -> Iterator[tuple[str, str]]:
    """Yield place and first docstring line of all modules, public classes and public functions."""
    for path in sorted(path for source in SOURCES for path in source.rglob("*.py")):
        nodes: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
        while nodes:
            node = nodes.pop()
            assert isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            if text := ast.get_docstring(node):
                line = getattr(node, "lineno", 1)
                yield f"{path.relative_to(ROOT)}:{line}", text.splitlines()[0]
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                nodes += [
                    inner
                    for inner in node.body
                    if isinstance(inner, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
                    and not inner.name.startswith("_")
                ]


if __name__ == "__main__":
    lines = list(first_lines())
    chosen = random.Random(SEED).sample(lines, DRAWN)  # noqa: S311 (a sample, no secret)
    for place, text in lines if "--all" in sys.argv else chosen:
        sys.stdout.write(f"{place}\t{text}\n")
