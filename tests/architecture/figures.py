"""The architecture in figures, beside their limits: `python -m tests.architecture.figures` prints the table.

All are counted from the imports and lines of the product's own files; `test_figures` holds them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import grimp
import typer

ROOT = Path(__file__).parents[2]
SOURCES = {
    "ecg_ontology": ROOT / "packages/ecg-ontology/src",
    "ecg_synth": ROOT / "packages/ecg-synth/src",
    "marecg": ROOT / "packages/marecg-model/src",
    "marecg_cli": ROOT / "cli/src",
    "marecg_corpora": ROOT / "packages/marecg-corpora/src",
    "marecg_report": ROOT / "packages/marecg-report/src",
    "marecg_experiments": ROOT / "packages/marecg-experiments/src",
}
ENTRANCES = ("marecg.train.run", "marecg.evaluate.evaluation", "marecg.use.embedding.embed")


class Figure(NamedTuple):
    """A measure, its value, and the largest value that is allowed."""

    measure: str
    value: int
    limit: int


class Plan(NamedTuple):
    """Rooms, the floors on which they stand, the arrows between them, and the rooms that are in a circle."""

    rooms: int
    floors: int
    arrows: int
    circles: int


def figures() -> list[Figure]:
    """The table."""
    ontology, house = plan("ecg_ontology", _ontology_room), plan("", _house_room)
    commands, options = commands_and_options()
    return [
        Figure("lines reached by marecg.train.run", lines(reached(ENTRANCES[0])), 8_650),
        Figure("lines reached by marecg.evaluate.evaluation", lines(reached(ENTRANCES[1])), 10_750),
        Figure("lines reached by marecg.use.embedding.embed", lines(reached(ENTRANCES[2])), 3_280),
        *_limited("ecg_ontology", ontology, (12, 7, 45, 0)),
        *_limited("house", house, (20, 11, 101, 0)),
        Figure("lines of marecg-model", lines(_of("marecg.")), 24_400),
        Figure("lines of marecg-corpora", lines(_of("marecg_corpora.")), 1_390),
        Figure("lines of marecg-report", lines(_of("marecg_report.")), 2_340),
        Figure("lines of marecg-experiments", lines(_of("marecg_experiments.")), 4_440),
        Figure("lines of ecg-synth", lines(_of("ecg_synth.")), 1_920),
        Figure("lines of ecg-ontology", lines(_of("ecg_ontology.")), 11_700),
        Figure("lines of marecg-cli", lines(_of("marecg_cli.")), 3_660),
        Figure("commands", commands, 42),
        Figure("options", options, 190),
    ]


@cache
def graph() -> grimp.ImportGraph:
    """Every import of the product, also those within functions."""
    return grimp.build_graph(*SOURCES, cache_dir=None)


def reached(entrance: str) -> set[str]:
    """The modules that an import of this one can load, with itself."""
    return {entrance, *graph().find_upstream_modules(entrance)}


def lines(modules: Iterable[str]) -> int:
    """The lines of their files."""
    return sum(len(_file(module).read_text(encoding="utf-8").splitlines()) for module in modules)


def plan(inside: str, room_of: Callable[[str], str]) -> Plan:
    """The rooms of modules whose names begin so, and how they stand on each other."""
    stands_on: dict[str, set[str]] = defaultdict(set)
    for module in graph().modules:
        if module.startswith(inside) and (room := room_of(module)):
            below = {room_of(each) for each in graph().find_modules_directly_imported_by(module)}
            stands_on[room] |= below - {room, ""}
    arrows = sum(map(len, stands_on.values()))
    floors = 0
    sorter = TopologicalSorter(stands_on)
    try:
        sorter.prepare()
    except CycleError as error:
        return Plan(len(stands_on), 0, arrows, len(error.args[1]) - 1)
    while ready := sorter.get_ready():
        floors += 1
        sorter.done(*ready)
    return Plan(len(stands_on), floors, arrows, 0)


def commands_and_options() -> tuple[int, int]:
    """Those of both command lines, with the commands of the experiments, without `--help`, -q and -v."""
    from marecg_cli import ecgonto, marecg

    leaves = []
    groups = [typer.main.get_command(each.app()) for each in (marecg, ecgonto)]
    while groups:
        group = groups.pop()
        inner = list(getattr(group, "commands", {}).values())
        groups += inner
        leaves += [] if inner else [group]
    return len(leaves), sum(each.param_type_name == "option" for leaf in leaves for each in leaf.params)


def _limited(name: str, measured: Plan, limits: tuple[int, int, int, int]) -> list[Figure]:
    rows = zip(Plan._fields, measured, limits, strict=True)
    return [Figure(f"{name}: {field}", value, limit) for field, value, limit in rows]


def _ontology_room(module: str) -> str:
    """A folder of the package, or a file at its top."""
    _, _, inner = module.partition(".")
    return inner.split(".")[0].removeprefix("__main__")


def _house_room(module: str) -> str:
    """A package, or a folder of marecg."""
    package, _, inner = module.partition(".")
    if package != "marecg":
        return package
    return inner.split(".")[0].removeprefix("__main__")


def _of(prefix: str) -> set[str]:
    return {module for module in graph().modules if f"{module}.".startswith(prefix)}


def _file(module: str) -> Path:
    place = SOURCES[module.partition(".")[0]] / module.replace(".", "/")
    return place.with_suffix(".py") if place.with_suffix(".py").is_file() else place / "__init__.py"


def table() -> str:
    """The figures as a Markdown table."""
    rows = [f"| {each.measure} | {each.value:,} | {each.limit:,} |" for each in figures()]
    return "\n".join(["| measure | value | at most |", "|---|---|---|", *rows])


if __name__ == "__main__":
    print(table())  # noqa: T201 (what it is for)
