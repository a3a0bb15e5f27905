"""The notebooks run from top to bottom and show what they hold, and their pages say the same."""

import nbformat
import pytest
from nbclient import NotebookClient
from tests.docs import notebooks
from tests.docs.notebooks import FOLDER, NOTEBOOKS

EACH = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
SLOW = [pytest.param(path, marks=pytest.mark.slow) for path in NOTEBOOKS if path.stem != "read-a-record"]


@EACH
def test_a_notebook_holds_its_outputs_and_its_page_is_up_to_date(path):
    cells = nbformat.read(path, as_version=4).cells
    assert any(cell.get("outputs") for cell in cells)
    words, pictures = notebooks.page(path)
    assert path.with_suffix(".md").read_text(encoding="utf-8") == words, "run: python -m tests.docs.notebooks"
    assert all((FOLDER / name).read_bytes() == picture for name, picture in pictures.items())


@pytest.mark.parametrize("path", [FOLDER / "read-a-record.ipynb", *SLOW], ids=lambda path: path.stem)
def test_a_notebook_shows_again_what_it_holds(path, tmp_path, monkeypatch):
    """In this process, which has torch already; one goes through Jupyter below."""
    monkeypatch.chdir(tmp_path)
    written = nbformat.read(path, as_version=4)
    again = notebooks.run(nbformat.read(path, as_version=4))
    for old, new in zip(written.cells, again.cells, strict=True):
        before, now = notebooks.text(old), notebooks.text(new)
        assert notebooks.same(before, now), f"{path.name}, {old.id}:\n{before}\nis now\n{now}"


def test_outputs_are_the_same_where_numbers_differ_by_rounding_alone():
    assert notebooks.same("AUC 0.91, 12 records", "AUC 0.92, 12 records")
    assert not notebooks.same("AUC 0.91, 12 records", "AUC 0.71, 12 records")
    assert not notebooks.same("AUC 0.91, 12 records", "AUC 0.91, 13 records")


@pytest.mark.slow
def test_one_runs_in_jupyter(tmp_path):
    notebook = nbformat.read(FOLDER / "own-graph.ipynb", as_version=4)
    done = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert done.cells[-1].outputs[0].data["text/plain"] == "True"
    assert (tmp_path / "lung.svg").exists()
