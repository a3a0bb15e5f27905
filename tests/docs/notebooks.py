"""The notebooks, run: `python -m tests.docs.notebooks` writes their outputs, and their pages for the site.

A cell's output is what it prints and the value of its last line, as Jupyter shows them. Pictures are what
a cell draws with pyplot, or an SVG that its last line is.
"""

import ast
import base64
import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
import nbformat
import numpy as np
from matplotlib import pyplot as plt

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


def run(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook with the outputs of its code, run in this process and the current folder."""
    names: dict[str, Any] = {"__name__": "notebook"}
    mpl.use("Agg")
    for count, cell in enumerate((each for each in notebook.cells if each.cell_type == "code"), start=1):
        cell.execution_count, cell.outputs = count, outputs(cell.source, names)
    return notebook


def outputs(source: str, names: dict[str, Any]) -> list[nbformat.NotebookNode]:
    """What one cell shows."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    plt.close("all")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
    shown = []
    if text := printed.getvalue():
        shown.append(nbformat.v4.new_output("stream", name="stdout", text=text))
    if hasattr(value, "_repr_svg_"):
        shown.append(_display({"image/svg+xml": value._repr_svg_(), "text/plain": "<SVG>"}))
    elif value is not None:
        shown.append(_display({"text/plain": repr(value)}))
    if plt.get_fignums():
        drawn = io.BytesIO()
        plt.savefig(drawn, format="png", dpi=90, bbox_inches="tight")
        image = base64.b64encode(drawn.getvalue()).decode()
        shown.append(_display({"image/png": image, "text/plain": "<Figure>"}))
    return shown


def _display(data: dict[str, str]) -> nbformat.NotebookNode:
    return nbformat.v4.new_output("display_data", data=data)


def text(cell: nbformat.NotebookNode) -> str:
    """A cell's outputs in words."""
    return "\n".join(each.get("text") or each.data["text/plain"] for each in cell.get("outputs", ()))


def same(one: str, other: str, tolerance: float = 0.05) -> bool:
    """Whether two outputs say the same: the words to the letter, numbers with a point nearly."""
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    numbers = [np.array(NUMBER.findall(each), float) for each in (one, other)]
    return bool(np.allclose(*numbers, rtol=tolerance, atol=tolerance))


def page(path: Path) -> tuple[str, dict[str, bytes]]:
    """A notebook as a page of the site, and its pictures by their names."""
    pictures: dict[str, bytes] = {}
    parts = []
    for cell in nbformat.read(path, as_version=4).cells:
        parts.append(f"```python\n{cell.source}\n```" if cell.cell_type == "code" else cell.source)
        for each in cell.get("outputs", ()):
            data = each.get("data", {})
            if kind := next((kind for kind in ("image/png", "image/svg+xml") if kind in data), None):
                name = f"{path.stem}-{len(pictures) + 1}.{kind.partition('/')[2][:3]}"
                pictures[name] = base64.b64decode(data[kind]) if kind.endswith("png") else data[kind].encode()
                parts.append(f"![Output of the cell above]({name})")
            else:
                parts.append(f"```text\n{(each.get('text') or data['text/plain']).rstrip()}\n```")
    link = f"[Download this notebook]({path.name})."
    return "\n\n".join([parts[0], link, *parts[1:]]) + "\n", pictures


def write(path: Path) -> None:
    """Run a notebook in an empty folder and write its outputs and its page."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as empty, contextlib.chdir(empty):
        nbformat.write(run(notebook), path)
    words, pictures = page(path)
    path.with_suffix(".md").write_text(words, encoding="utf-8")
    for old in FOLDER.glob(f"{path.stem}-[0-9]*"):
        old.unlink()
    for name, picture in pictures.items():
        (FOLDER / name).write_bytes(picture)


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    for each in [path for path in NOTEBOOKS if path.stem in sys.argv[1:] or len(sys.argv) == 1]:
        write(each)
