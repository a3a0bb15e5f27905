"""The notebooks run from top to bottom, and their pages say what they say."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from tests.docs.notebook_pages import FOLDER, NOTEBOOKS, page

from marecg.base.errors import CheckpointError
from marecg.model.mar_ecg import MarEcg
from marecg.recipes import tiny

EACH = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to run in; where the shipped encoder is not installed, another one takes its place."""
    try:
        MarEcg.from_pretrained("marecg-small")
    except CheckpointError:
        MarEcg(tiny().model).save_pretrained(tmp_path / "model")
        monkeypatch.setenv("MARECG_MODEL", str(tmp_path / "model"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_are_five() -> None:
    names = ["archive-to-run", "embed-and-classify", "own-graph", "own-objective", "reading-the-report"]
    assert [path.stem for path in NOTEBOOKS] == names


@EACH
def test_a_notebook_holds_no_output_and_its_page_is_up_to_date(notebook: Path) -> None:
    cells = nbformat.read(notebook, as_version=4).cells
    assert not any(each.get("outputs") or each.get("execution_count") for each in cells)
    written = notebook.with_suffix(".md").read_text(encoding="utf-8")
    assert written == page(notebook), "run: python -m tests.docs.notebook_pages"


@EACH
def test_a_notebook_runs(notebook: Path, place: Path) -> None:
    """In this process, which has torch already; one goes through Jupyter below."""
    names: dict[str, Any] = {"__name__": notebook.stem.replace("-", "_")}
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, f"{notebook.name}, {cell.id}", "exec"), names)  # noqa: S102 (our own)


def test_one_runs_in_jupyter(place: Path) -> None:
    notebook = nbformat.read(FOLDER / "own-graph.ipynb", as_version=4)
    done = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(place)}}).execute()
    assert done.cells[-1].outputs[0].data["text/plain"] == "True"
    assert (place / "lung.svg").exists()
