"""One table of every option of every command: `python -m tests.docs.options` writes it.

It is how a name is held to one meaning: what takes two kinds of value shows here, and the test refuses it.
"""

from collections import defaultdict
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Literal, get_args, get_origin

from tests.docs.cli_reference import APPS, PAGES

from marecg_cli._commands import tree

PAGE = PAGES / "options.md"
PLAIN = {"str": "TEXT", "int": "INTEGER", "float": "NUMBER", "Path": "PATH", "bool": "flag"}
OF_ALL = {"--help", "--quiet", "--verbose", "--help-settings"}
"""What a reader learns once; `--help-settings` is the help of `--set`, and comes with it."""
MIXED = {
    "--format": "what can be printed differs from command to command; json and text mean the same everywhere",
    "--lang": "a label has any language; the page of a record is written in two",
    "--out": "what is written; `embed` writes one file, or a folder of parts, here or in an object store",
    "--root": "the folder of a task's data; `probe` takes one per data set",
}
"""Options that take more than one kind of value, and why."""


def commands() -> dict[str, Any]:
    """Every command by the words that call it."""
    trees = {name: tree(module.app()) for name, module in APPS.items()}
    return dict(pair for name, group in trees.items() for pair in _walk((name,), group))


def options(command: Any) -> Iterator[tuple[Any, str]]:
    """The options of a command that its help shows, each by each of its long names."""
    for each in command.params:
        if each.param_type_name == "option" and not each.hidden:
            yield from ((each, name) for name in each.opts if name.startswith("--"))


def kind(option: Any) -> str:
    """What it takes: choices, or what stands for a value."""
    annotation = option.type_descriptor.annotation
    if get_origin(annotation) is list:  # what each of several values is
        (annotation,) = get_args(annotation)
    if option.is_flag:
        return "flag"
    choices = [str(each) for each in (get_args(annotation) if get_origin(annotation) is Literal else ())]
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        choices = [each.value for each in annotation]
    return "|".join(choices) or str(option.metavar or PLAIN.get(annotation.__name__, annotation.__name__))


def kinds() -> dict[str, dict[str, list[str]]]:
    """By option, by what it takes, the commands."""
    names: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, command in commands().items():
        for each, option in options(command):
            if option not in OF_ALL:
                names[option][kind(each)].append(name)
    return names


def page() -> str:
    """The table."""
    about = "A name means the same wherever it is. Every command takes `-h`, `-q` and `-v` as well"
    about += "; where there is `--set`, `--help-settings` lists what it takes."
    lines = ["# Every option of every command", "", about, ""]
    lines += ["| option | takes | commands |", "|---|---|---|"]
    for option, taken in sorted(kinds().items()):
        for what, names in taken.items():
            shown = what if what == "flag" else f"`{what}`".replace("|", r"\|")
            lines.append(f"| `{option}` | {shown} | {', '.join(names)} |")
    lines += ["", *(f"`{option}`: {why}." for option, why in MIXED.items())]
    return "\n".join(lines) + "\n"


def _walk(path: tuple[str, ...], command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield " ".join(path), command
    for name, child in getattr(command, "commands", {}).items():
        yield from _walk((*path, name), child)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
