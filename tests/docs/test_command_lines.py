"""The command lines in the documentation are valid."""

import re
import shlex
from pathlib import Path

import pytest
from tests.cli.test_commands import TREES

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    DOCS.parent / "README.md",
    *sorted(page for page in DOCS.rglob("*.md") if page.parent.name != "reference"),
]
BLOCK = re.compile(r"^```(?:console|sh)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINES = [
    (page.name, line.removeprefix("$ ").partition("  #")[0].strip())
    for page in PAGES
    for block in BLOCK.findall(page.read_text(encoding="utf-8"))
    for line in re.sub(r"\\\n\s*", "", block).splitlines()
    if line.removeprefix("$ ").startswith(("marecg ", "ecgonto "))
]


@pytest.mark.parametrize(("page", "line"), LINES, ids=[line[:60] for _, line in LINES])
def test_a_command_of_a_page_is_understood(page, line):
    program, *argv = shlex.split(line)
    context = TREES[program].make_context(program, list(argv))
    while getattr(context.command, "commands", None):
        rest = [*context._protected_args, *context.args]
        called, command, rest = context.command.resolve_command(context, rest)
        context = command.make_context(called, rest, parent=context)
    assert len(context.command_path.split()) > 1, page
