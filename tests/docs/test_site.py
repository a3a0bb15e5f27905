"""The documentation site: every page is in it, the references are those of the code, the home page runs."""

import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.docs import home_picture
from tests.docs.cli_reference import APPS, PAGES, page

import ecg_ontology
import marecg

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PLACES = ("docs/**/*.md", "*.md", "packages/*/README.md", "ontology/*.md")
PROSE = [path for place in PLACES for path in ROOT.glob(place)]


def listed(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [each for part in (nav.values() if isinstance(nav, dict) else nav) for each in listed(part)]


def test_every_page_is_in_the_navigation_once():
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    pages = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
    assert sorted(listed(site["project"]["nav"])) == pages


@pytest.mark.parametrize("name", APPS)
def test_the_page_of_a_command_line_is_what_its_help_says(name):
    written = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert written == page(name), "run: python -m tests.docs.cli_reference"


@pytest.mark.parametrize("package", [marecg, ecg_ontology], ids=lambda package: package.__name__)
def test_every_public_name_is_in_the_reference(package):
    pages = (DOCS / "reference" / package.__name__).glob("*.md")
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    named = set(re.findall(r"^::: [\w.]*?(\w+)$", text, re.MULTILINE))
    assert set(package.__all__) <= named
    for path in re.findall(r"^::: ([\w.]+)$", text, re.MULTILINE):
        module, _, name = path.rpartition(".")
        home = __import__(module, fromlist=[name])
        assert getattr(home, name, None) is not None or __import__(path), path


def test_what_examples_import_is_there():
    text = "\n".join(path.read_text(encoding="utf-8") for path in PROSE)
    lines = set(re.findall(r"^ *from ((?:marecg|ecg_ontology)[\w.]*) import ([\w, ]+)", text, re.MULTILINE))
    assert len(lines) > 20
    for module, names in lines:
        home = import_module(module)
        for name in re.findall(r"\w+", names.partition(" as ")[0]):
            assert hasattr(home, name) or import_module(f"{module}.{name}"), f"{module} has no {name}"


@pytest.mark.parametrize("page_of_ours", sorted(PROSE), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_code_block_is_closed_before_the_next_heading(page_of_ours):
    inside = False
    for number, line in enumerate(page_of_ours.read_text(encoding="utf-8").splitlines(), start=1):
        place = f"{page_of_ours}:{number}: {line}"
        if line.lstrip().startswith("```"):
            inside = not inside
            assert inside or line.strip() == "```", f"{place} opens a block within a block"
        assert not (inside and line.startswith("## ")), f"{place} stands in a code block"
        assert inside or not line.startswith(">>> "), f"{place} stands in no code block"
    assert not inside, f"{page_of_ours}: its last code block has no end"


def test_the_home_pages_picture_is_what_the_shipped_encoder_says_today():
    pytest.importorskip("marecg_small")
    # Another processor may round a point of the tracing, a share or the length of its bar otherwise.
    path, number = re.compile(r' d="[^"]*"'), re.compile(r"\d+(?:\.\d+)?")
    pictures = (home_picture.PICTURE.read_text(encoding="utf-8"), home_picture.svg())
    written, made = (path.sub("", each) for each in pictures)
    assert number.sub("#", written) == number.sub("#", made), "run: python -m tests.docs.home_picture"
    figures = (list(map(float, number.findall(each))) for each in (made, written))
    assert next(figures) == pytest.approx(next(figures), abs=0.11), "run: python -m tests.docs.home_picture"
    assert "](ecg-read.svg)" in (DOCS / "index.md").read_text(encoding="utf-8")


def test_the_tests_that_the_security_page_names_exist():
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/\S+\.py)::(test_\w+)`", page)
    assert named
    for file, name in named:
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{name}"


def test_the_files_that_the_page_on_the_paper_names_exist_and_cite_its_equations():
    page = (DOCS / "paper.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:4] for line in page.splitlines() if line.startswith("| ")][1:]
    assert rows
    for paper, code, tests in rows:
        text = ""
        for name in re.findall(r"`([^`]+)`", code + tests):
            found = [path for path in (ROOT / name, *ROOT.glob(f"packages/*/src/{name}")) if path.is_file()]
            assert found, f"{name} of {paper.strip()!r} doesn't exist"
            text += found[0].read_text(encoding="utf-8")
        for equation in re.findall(r"\b[a-z]+(?:-[a-z]+)+", paper.partition("eq. ")[2]):
            assert re.search(rf"[Ee]q\.\s+(?:[a-z-]+, )*{equation}\b", text), f"no file cites eq. {equation}"
