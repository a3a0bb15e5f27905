"""The registry, held against the pages."""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.docs.claims import computed
from tests.docs.claims.pages import ROOT, digest, figures, units

from benchmarks import table

PAGES = {
    "README.md": "readme",
    "docs/index.md": "home",
    "docs/pretrained.md": "pretrained",
    "docs/graph.md": "graph",
    "docs/answers.md": "answers",
    "docs/classify.md": "classify",
    "docs/ontology/index.md": "ontology",
    "docs/questions.md": "questions",
}
DATED = re.compile(r"20\d\d-\d\d-\d\d (?:(?:marecg|ecgonto|make|python|pip|du|\.ci/\S+) ?.*\S|by .*\S)")
"""A day, and a command; or who measured by what, where no command repeats it."""
FOLDER = Path(__file__).parent
WIDTH = 60
"""Characters of a unit that a new line of the registry begins with."""


def proofs(page: str) -> dict[str, list[str]]:
    """The lines of a page: the beginning of a unit, and its proofs."""
    path = FOLDER / f"{PAGES[page]}.toml"
    lines: dict[str, str | list[str]] = tomllib.loads(path.read_text(encoding="utf-8"))
    return {phrase: [proof] if isinstance(proof, str) else proof for phrase, proof in lines.items()}


def findings(page: str) -> Iterator[str]:
    """What is wrong: a missing proof, a line without a sentence, a proof that is gone, other figures."""
    lines = proofs(page)
    texts = list(units(page))
    rest = lines.pop("*", [])
    for phrase in lines:
        if sum(text.startswith(phrase) for text in texts) != 1:
            yield f"{page}: no sentence, or several, begin with: {phrase}"
    for text in texts:
        printed = figures(text)
        given = [proof for phrase, each in lines.items() if text.startswith(phrase) for proof in each]
        given = given or (rest if printed else [])
        beginning = text.split("\n")[0][:WIDTH].replace('"', '\\"')
        if not given and printed:
            listed = digest(text) if text.startswith("|") else " ".join(sorted(printed))
            yield f'{page}: without a proof:\n"{beginning}" = "PROOF: {listed}"'
        if given:
            proven: set[str] = set()
            for proof in given:
                try:
                    proven |= figures_of(proof, printed)
                except LookupError as error:
                    yield f"{page}: {beginning}: {error}"
            if digest(text) in proven:  # a table
                proven = printed
            if printed != proven:
                more, less = sorted(printed - proven), sorted(proven - printed)
                also = f"; of the whole table {digest(text)}" if text.startswith("|") else ""
                yield (
                    f"{page}: {beginning}: the page has {more} that no proof has, "
                    f"the proofs {less} that the page hasn't{also}"
                )


def figures_of(proof: str, printed: set[str]) -> set[str]:
    """The figures that a proof holds. Raises `LookupError` where the proof isn't there."""
    name, _, listed = proof.partition(": ")
    kind, _, rest = name.partition(" ")
    if kind == "computed":
        return {str(figure) for figure in getattr(computed, rest)()}
    if kind == "in":
        path, _, heading = rest.partition("#")
        return {figure for figure in printed if is_among(figure, list(units(path, heading)))}
    if not exists(name, kind, rest):
        raise LookupError(f"{name!r} is no proof")
    return set(listed.split())


def is_among(figure: str, texts: list[str]) -> bool:
    """Whether a figure stands in one of the texts, there perhaps with more decimals or another sign."""
    digits = figure.lstrip("+-−").replace(",", "")
    decimals = len(digits.partition(".")[2])
    return any(
        f"{number:.{decimals}f}" == f"{float(digits):.{decimals}f}" for number in numbers(tuple(texts))
    )


@cache
def numbers(texts: tuple[str, ...]) -> set[float]:
    """The figures of some texts as numbers without a sign."""
    return {float(figure.lstrip("+-−").replace(",", "")) for text in texts for figure in figures(text)}


def exists(name: str, kind: str, rest: str) -> bool:
    """Whether a proof without figures of its own is there."""
    if kind.startswith("tests/"):
        path, _, function = kind.partition("::")
        return not rest and function in functions(path)
    if kind == "benchmark":
        return rest in table.ROWS
    return name == "above" or kind == "source" or bool(DATED.fullmatch(name))


@cache
def functions(path: str) -> set[str]:
    """The functions of a file of tests."""
    if not (ROOT / path).is_file():
        return set()
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
