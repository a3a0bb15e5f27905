"""A page for each aim: short, with one picture; its commands are understood, its shapes are the model's."""

import re
import shlex
from pathlib import Path

import pytest
from tests.cli.test_commands import TREES

from marecg import MarEcg, recipes

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    *sorted((DOCS / "start").glob("*.md")),
    DOCS / "notebooks/read-a-record.md",
    DOCS / "ontology/find.md",
]
OURS = [page for page in PAGES if page.parent.name != "notebooks"]
BLOCK = re.compile(r"^```\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINES = [
    (page.name, line.partition("  #")[0].strip())
    for page in OURS
    for block in BLOCK.findall(page.read_text(encoding="utf-8"))
    for line in block.splitlines()
    if line.startswith(("marecg ", "ecgonto "))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_of_an_aim_has_at_most_600_words_and_one_picture(page):
    text = page.read_text(encoding="utf-8")
    assert len(text.split()) <= 600
    assert len(re.findall(r"^!\[", text, re.MULTILINE)) == 1


@pytest.mark.parametrize(("page", "line"), LINES, ids=[line[:60] for _, line in LINES])
def test_a_command_of_such_a_page_is_understood(page, line):
    program, *argv = shlex.split(line)
    context = TREES[program].make_context(program, list(argv))
    while getattr(context.command, "commands", None):
        rest = [*context._protected_args, *context.args]
        called, command, rest = context.command.resolve_command(context, rest)
        context = command.make_context(called, rest, parent=context)
    assert len(context.command_path.split()) > 1, page


def test_the_patches_that_the_page_on_use_names_are_the_models():
    text = (DOCS / "use.md").read_text(encoding="utf-8")
    small, paper = MarEcg.from_pretrained("marecg-small").config, recipes.c3().model
    counts = [each.patches(each.context) for each in (small, paper)]
    patch_ms = 1000 * small.patch // small.fs
    assert f"{counts[0]} patches of {patch_ms} ms in `marecg-small`, {counts[1]} in the paper's" in text
