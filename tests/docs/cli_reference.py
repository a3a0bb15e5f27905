"""The pages of the command lines, from the commands: `python -m tests.docs.cli_reference` writes them."""

import re
from pathlib import Path
from typing import Any

import typer
from typer.cli import get_docs_for_click

from marecg_cli import ecgonto, marecg
from marecg_cli._commands import summary

PAGES = Path(__file__).parents[2] / "docs" / "reference"
APPS: dict[str, Any] = {"marecg": marecg, "ecgonto": ecgonto}


def page(name: str) -> str:
    """The page of a command line: its commands by stage, then each with all its options."""
    tree: Any = typer.main.get_command(APPS[name].app)
    context = tree.make_context(name, [next(iter(tree.commands))])
    made = get_docs_for_click(obj=tree, ctx=context, name=name)
    head, _, commands = made.partition("\n## ")
    head = head[: head.index("**Commands**")].replace(f"# `{name}`", f"# The command {name}")
    overview = "\n\n".join(
        f"**{stage.capitalize()}**\n\n"
        + "\n".join(f"* [`{each}`](#{name}-{each}): {summary(tree.commands[each].help)}" for each in names)
        for stage, names in APPS[name].STAGES.items()
    )
    text = f"{head}{overview}\n\n## {commands}"
    text = re.sub(r"^Example: (.+?)$", r"```console\n$ \1\n```", text, flags=re.MULTILINE)
    text = re.sub(r"^(#{1,4} )`(.+)`$", r"\1\2", text, flags=re.MULTILINE)
    text = re.sub(r"\*\*Commands\*\*:\n\n(?:\* .*\n)+\n", "", text)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip() + "\n"


if __name__ == "__main__":
    for each in APPS:
        (PAGES / f"{each}.md").write_text(page(each), encoding="utf-8")
