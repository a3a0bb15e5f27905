"""A page as sentences, list items and tables, and the figures of each."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
CODE = re.compile(r"^( *)```.*?^\1```$", re.DOTALL | re.MULTILINE)
SENTENCE = re.compile(r"(?<=[.!?:;])\s+(?=[\[*\"“(`]*[A-Z`])")
UNSPOKEN = re.compile(r"`[^`]*`|\]\([^)]*\)|\bC2′|\bC[123]\b")
"""Code, addresses and names, whose digits are no figures."""
FIGURE = re.compile(r"(?<![\w.-])[−+-]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)")


def units(page: str, heading: str = "") -> Iterator[str]:
    """The sentences, list items and tables of a page or of a section, without headings, pictures and code."""
    text = CODE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    if heading:
        level = re.search(rf"^(#+) {re.escape(heading)}$", text, re.MULTILINE)
        assert level, f"{page} has no heading {heading!r}"
        text = re.split(rf"^#{{1,{len(level[1])}}} ", text[level.end() :], maxsplit=1, flags=re.MULTILINE)[0]
    for block in re.split(r"\n\s*\n", text):
        if block.lstrip().startswith("|"):
            yield block.strip()
        elif block.strip() and not block.lstrip().startswith(("#", "![")):
            for item in re.split(r"\n(?=- )", block.strip()):
                yield from SENTENCE.split(" ".join(item.removeprefix("- ").split()))


def figures(unit: str) -> set[str]:
    """The figures of a unit, as they are printed there."""
    return {figure.rstrip(",") for figure in FIGURE.findall(UNSPOKEN.sub("", unit))}


def digest(unit: str) -> str:
    """What stands in the registry for the many figures of a table: a hash of them in their order."""
    figures = FIGURE.findall(UNSPOKEN.sub("", unit))
    return "#" + hashlib.sha256(" ".join(figures).encode()).hexdigest()[:8]
