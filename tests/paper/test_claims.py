"""The paper's claims and the code, held against each other both ways."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from marecg import recipes
from marecg.base.config import sources
from marecg.recipes import Config

TESTS = Path(__file__).parents[1]
PACKAGES = TESTS.parent / "packages"
MANIFEST = tomllib.loads((TESTS / "paper" / "claims.toml").read_text(encoding="utf-8"))
CLAIMS: list[dict[str, Any]] = MANIFEST["claim"]
VALUES: dict[str, Any] = MANIFEST["values"]
C3 = recipes.c3().model_dump(mode="json")


@cache
def functions(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["id"])
def test_every_claim_is_held_by_tests_that_exist(claim):
    assert claim["tests"]
    for test in claim["tests"]:
        file, _, name = test.partition("::")
        assert name in functions(TESTS / file), f"{test} is gone"


def test_no_claim_is_made_twice():
    ids = [claim["id"] for claim in CLAIMS]
    assert len(ids) == len(set(ids))


def test_the_equations_that_the_code_cites_are_those_that_are_claimed():
    text = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGES.rglob("src/**/*.py"))
    cited = set(re.findall(r"eq\.\s+([a-z]+(?:-[a-z]+)+)", text))
    claimed = {claim["id"].removeprefix("eq:") for claim in CLAIMS if claim["id"].startswith("eq:")}
    assert cited == claimed


def test_a_page_says_where_the_paper_is_in_the_code():
    page = (TESTS.parent / "docs" / "paper.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:3] for line in page.splitlines() if line.startswith("| ")][1:]
    claimed = {claim["id"].removeprefix("eq:") for claim in CLAIMS}
    for paper, code in rows:
        named = re.findall(r"[a-z]+(?:-[a-z]+)+", paper) if "eq. " in paper else []
        assert set(named) <= claimed, paper
        beside = TESTS.parent
        for name in re.findall(r"`([^`]+)`", code):
            packages = [
                PACKAGES / name / "src" for name in ("ecg-ontology", "marecg-model", "marecg-corpora")
            ]
            homes = [TESTS.parent, beside, *packages, packages[1] / "marecg"]
            found = [home / name for home in homes if (home / name).exists()]
            assert found, f"{name} of {paper.strip()!r} is gone"
            beside = found[0].parent


@pytest.mark.parametrize("key", VALUES)
def test_the_full_recipe_has_the_papers_value(key):
    value: Any = C3
    for part in key.split("."):
        value = value[part]
    assert value == VALUES[key]


def test_what_a_config_calls_the_papers_is_claimed_and_the_other_way_round():
    papers = {key for key, source in sources(Config) if source.startswith("paper ")}
    assert papers == set(VALUES)
