"""What the shipped encoders reach is stated alike on cards, in their record and in the README."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "packages" / "marecg-small" / "src" / "marecg_small"
TASKS = ("super", "sub", "form", "rhythm")
ON_THE_CARD = {
    "encoder (h_rhythm)": "encoder",
    "marecg-small, full": "encoder, full",
    "zero-shot, no label": "zero-shot",
}
"""What a row is called on a page, where the card calls it otherwise."""
Figures = dict[str, list[list[str]]]
"""By row, of each task the macro AUCs at 1, 10 and 100 %, or the one without labels."""


def tables(page: Path) -> list[Figures]:
    """The tables whose columns are the four tasks, without their intervals."""
    found: list[Figures] = []
    for block in re.findall(r"(?:^\|.*\n)+", page.read_text(encoding="utf-8"), re.MULTILINE):
        heads, _, *rows = [line.strip("|").split("|") for line in block.splitlines()]
        if tuple(head.split()[0] if head.strip() else "" for head in heads) == ("", *TASKS):
            cells = {row[0].strip().replace("`", ""): row[1:] for row in rows}
            found.append({name: [figures(cell) for cell in row] for name, row in cells.items()})
    return found


def figures(cell: str) -> list[str]:
    """The numbers of a cell with one decimal, those in brackets left out."""
    return re.findall(r"\d+\.\d\b", re.sub(r"\[.*?\]|\(.*?\)", "", cell))


def card(folder: str) -> Figures:
    """What a model's config.json says that it reaches, as its card does."""
    scores = json.loads((PACKAGE / folder / "config.json").read_text(encoding="utf-8"))["scores"]
    rows: Figures = {score["method"]: [[], [], [], []] for score in scores}
    for score in sorted(scores, key=lambda each: each["fraction"]):
        task = TASKS.index(score["task"].removeprefix("ptbxl-"))
        rows[score["method"]][task].append(f"{100 * score['auc']:.1f}")
    return rows


README = tables(ROOT / "README.md")
PAGE = [table for table in tables(ROOT / "research" / "small" / "shipped.md") if "encoder, beats" in table]


def test_the_readme_and_the_page_have_the_tables_that_are_compared():
    assert (len(README), len(PAGE)) == (1, 3), (
        "the rotations, the official folds, and those with PTB-XL's codes"
    )


@pytest.mark.parametrize(("table", "folder"), [(1, "without_ptbxl_codes"), (2, "with_ptbxl_codes")])
def test_the_page_says_of_the_official_folds_what_the_card_says(table, folder):
    known = card(folder)
    told = {ON_THE_CARD.get(name, name): row for name, row in PAGE[table].items()}
    shared = {name: row for name, row in told.items() if name in known}
    assert {"encoder", "encoder, full", "zero-shot"} <= shared.keys()
    assert shared == {name: known[name] for name in shared}


def test_the_readme_says_what_the_page_says_of_the_official_folds():
    page = PAGE[1]
    told = {ON_THE_CARD.get(name, name): row for name, row in README[0].items()}
    known = {name.removesuffix(", one draw"): row for name, row in page.items()}
    assert told == {name: known[name] for name in told}
