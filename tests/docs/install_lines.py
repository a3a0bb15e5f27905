"""Writes into the pages since when an index has the packages: `released` in pyproject.toml.

python -m tests.docs.install_lines
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "docs/index.md",
    *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("packages/*/README.md"))),
)
LINE = re.compile(r"^(\$ pip install [\w-]+) *(?:#.*)?$", re.MULTILINE)
REMARKS = {False: "from the first release on", True: "or the released version"}


def is_released() -> bool:
    """Whether the project says that an index has its packages."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    released: bool = settings["tool"]["marecg"]["released"]
    return released


def page(text: str) -> str:
    """A page with the remark that is true today."""
    return LINE.sub(lambda line: f"{line[1]:<71} # {REMARKS[is_released()]}", text)


if __name__ == "__main__":
    for name in PAGES:
        path = ROOT / name
        path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
