"""Each claim of the pages has a proof, and the proof has the figures of the page."""

import pytest
from tests.docs.claims import registry
from tests.docs.claims.pages import ROOT, figures, units


@pytest.mark.parametrize("page", registry.PAGES)
def test_every_claim_of_a_page_has_a_proof_with_its_figures(page):
    assert list(registry.findings(page)) == [], "see python -m tests.docs.claims"


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A function that gives the findings of a page of one text, with one line of the registry."""

    def held(text, line):
        (tmp_path / "page.md").write_text(text, encoding="utf-8")
        (tmp_path / "page.toml").write_text(line, encoding="utf-8")
        monkeypatch.setattr("tests.docs.claims.pages.ROOT", tmp_path)
        monkeypatch.setattr(registry, "PAGES", {"page.md": "page"})
        monkeypatch.setattr(registry, "FOLDER", tmp_path)
        return " ".join(registry.findings("page.md"))

    return held


PROVEN = "tests/docs/test_claims.py::test_every_claim_of_a_page_has_a_proof_with_its_figures"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("It has 40 concepts.", "", 'without a proof:\n"It has 40 concepts." = "PROOF: 40"'),
        (
            "It has 41 concepts.",
            '"It has" = "computed concepts"',
            "['41'] that no proof has, the proofs ['40",
        ),
        ("It has 41 concepts.", f'"It has" = "{PROVEN}: 40"', "['41'] that no proof has"),
        ("It is fast.", '"It is fast" = "tests/gone.py::test_x"', "'tests/gone.py::test_x' is no proof"),
        ("It is fast.", '"It is fast" = "benchmark gone"', "'benchmark gone' is no proof"),
        ("It is fast.", '"It is fast" = "2026-11-23 somebody said so"', "is no proof"),
        ("It is fast.", '"It was fast" = "above"', "no sentence, or several, begin with: It was fast"),
        ("| a | 1 |\n|---|---|\n| b | 2 |", '"| a" = "above: #00000000"', "['1', '2'] that no proof has"),
    ],
)
def test_a_claim_without_its_proof_is_found(page, text, line, problem):
    assert problem in page(text, line)


def test_a_claim_with_its_proof_is_in_order(page):
    assert page("It has 40 concepts. See `x 12`.", f'"It has" = ["computed concepts", "{PROVEN}"]') == ""
    assert page("It gains 5.2 points.", '"*" = "in page.md"') == ""


def test_the_figures_of_a_table_are_held_in_their_order(page):
    text = "| a | 1 |\n|---|---|\n| b | 2 |"
    digest = page(text, "").rpartition(": ")[2].rstrip('"')
    assert page(text, f'"| a" = "above: {digest}"') == ""
    assert page(text.replace("1", "3"), f'"| a" = "above: {digest}"')
    assert page("| a | 2 |\n|---|---|\n| b | 1 |", f'"| a" = "above: {digest}"')


def test_a_figure_may_have_more_decimals_where_it_is_from():
    assert registry.is_among("+8.3", ["from 8.31 to 9"])
    assert registry.is_among("−5.2", ["| -5.20 |"])
    assert not registry.is_among("8.3", ["from 8.36 to 9"])
    assert figures("from 1,642 records, `x 5`, C2′ and [9](7.md): −.6 [−1.5, .3]") == {
        "1,642",
        "9",
        "−.6",
        "−1.5",
        ".3",
    }


def test_every_page_that_the_registry_names_is_read():
    assert all(len(list(units(page))) > 1 for page in registry.PAGES)
    assert {path.stem for path in (ROOT / "tests/docs/claims").glob("*.toml")} == set(registry.PAGES.values())
