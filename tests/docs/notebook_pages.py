"""The notebooks as pages of the site: `python -m tests.docs.notebook_pages` writes them."""

from pathlib import Path

import nbformat

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def page(notebook: Path) -> str:
    """Its text and its code, and where to download it."""
    cells = nbformat.read(notebook, as_version=4).cells
    title, *rest = (
        f"```python\n{each.source}\n```" if each.cell_type == "code" else each.source for each in cells
    )
    link = f"[Download this notebook]({notebook.name}); it is run in every test of this project."
    return "\n\n".join([title, link, *rest]) + "\n"


if __name__ == "__main__":
    for each in NOTEBOOKS:
        each.with_suffix(".md").write_text(page(each), encoding="utf-8")
