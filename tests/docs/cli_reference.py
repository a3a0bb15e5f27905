"""The pages of the command lines, from the commands: `python -m tests.docs.cli_reference` writes them."""

import re
from pathlib import Path
from typing import Any

from typer.cli import get_docs_for_click

from marecg_cli import ecgonto, marecg
from marecg_cli._commands import tree

PAGES = Path(__file__).parents[2] / "docs" / "reference"
APPS: dict[str, Any] = {"marecg": marecg, "ecgonto": ecgonto}


def summary(text: str) -> str:
    """The first sentence of a help text, without what follows a semicolon or a colon."""
    first = " ".join(text.split("\n\n", maxsplit=1)[0].split())
    for end in (". ", "; ", ": "):
        first = first.partition(end)[0]
    return first.rstrip(".")


def page(name: str) -> str:
    """The page of a command line: its commands by stage, then each with all its options."""
    group: Any = tree(APPS[name].app())
    context = group.make_context(name, [next(iter(group.commands))])
    made = get_docs_for_click(obj=group, ctx=context, name=name)
    head, _, commands = made.partition("\n## ")
    head = head[: head.index("**Commands**")].replace(f"# `{name}`", f"# The command {name}")
    overview = ""
    for panel, modules in APPS[name].PANELS.items():
        listed = (each for names in modules.values() for each in names)
        lines = (f"* [`{each}`](#{name}-{each}): {summary(group.commands[each].help)}" for each in listed)
        overview += "\n".join((f"**{panel}**\n", *lines, "\n"))
    text = f"{head}{overview}## {commands}"
    text = re.sub(r"^Example: (.+?)$", r"```console\n$ \1\n```", text, flags=re.MULTILINE)
    text = re.sub(r"^(#{1,4} )`(.+)`$", r"\1\2", text, flags=re.MULTILINE)
    text = re.sub(r"\*\*Commands\*\*:\n\n(?:\* .*\n)+\n", "", text)
    # The options of all commands stand once, in the head.
    head, _, text = text.partition("\n## ")
    text = (
        head + "\n## " + re.sub(r"^\* `-[qvh], --(?:quiet|verbose|help)`.*\n", "", text, flags=re.MULTILINE)
    )
    # A command's arguments and options follow its examples, so its usage line says nothing new.
    text = re.sub(r"\*\*Usage\*\*:\n\n```console\n.*?```\n\n", "", text, flags=re.DOTALL)
    text = text.replace("```\n\n```console\n", "")
    text = re.sub(r"\*\*Options\*\*:\n\n(?=\n|\Z)", "", text)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip() + "\n"


if __name__ == "__main__":
    for each in APPS:
        (PAGES / f"{each}.md").write_text(page(each), encoding="utf-8")
