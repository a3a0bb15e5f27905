"""What the ontology costs: supervision of a corpus, a cold start, a large graph.

Both sides of a ratio are measured in the same run on the same machine.

Run it with `python bench/ontology.py`.
"""

import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import networkx as nx
import numpy as np

import ecg_ontology
from ecg_ontology import Kind, Ontology, Relation
from ecg_ontology.graph import ConceptGraph
from ecg_ontology.targets import soft_targets

RECORDS = 40_721
BASELINE = "import typer, pydantic"
EMPTY_APP = """
import typer
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
@app.command()
def route(codes: list[str]): pass
app(["164889003"])
"""
"""What typer itself costs before a command does anything: the floor under any ratio."""


def corpus(onto: Ontology) -> list[list[str]]:
    """As many records as the paper's corpus, with 2.5 codes each, drawn with a fixed seed."""
    draw = random.Random(0)  # noqa: S311 — a bench, no secret
    codes = list(onto.official)
    return [draw.choices(codes, k=draw.choice((2, 3))) for _ in range(RECORDS)]


def one_by_one(onto: Ontology, records: Sequence[Sequence[str]]) -> np.ndarray:
    """Supervision as the paper's formulas read: a record at a time, rows of D and a sum."""
    t = np.zeros((len(records), len(onto)))
    for row, codes in enumerate(records):
        active = sorted({leaf for code in codes for leaf in onto.route(code).leaves})
        if active:
            mass = np.exp(-onto.distances[active[-1]].astype(float))
            mass[active] = np.maximum(1.0, mass[active])
            t[row] = mass / mass.sum()
    return t


def vectorised(onto: Ontology, records: Sequence[Sequence[str]]) -> np.ndarray:
    """The same by the library."""
    return onto.soft_targets(onto.leaf_multi_hot(records))


def best_of(n: int, call: Callable[[], object]) -> float:
    """Seconds of the fastest of `n` calls."""
    times = []
    for _ in range(n):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def cpu_seconds(n: int, *commands: Sequence[str]) -> list[float]:
    """Processor seconds of the cheapest of `n` runs of each command, taken in turn: noise hits all alike."""
    least = [float("inf")] * len(commands)
    for _ in range(n):
        for which, command in enumerate(commands):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            least[which] = min(least[which], used)
    return least


def supervision() -> None:
    onto = ecg_ontology.load()
    records = corpus(onto)
    np.testing.assert_allclose(vectorised(onto, records), one_by_one(onto, records))
    fast, slow = best_of(5, lambda: vectorised(onto, records)), best_of(3, lambda: one_by_one(onto, records))
    print(f"{RECORDS} targets in {fast:.3f} s; one by one {slow:.3f} s: {slow / fast:.1f}x")


def cold_start() -> None:
    python = sys.executable
    tool = str(Path(python).with_name("ecgonto"))
    commands = {
        f'python -c "{BASELINE}"': [python, "-c", BASELINE],
        "an empty typer command": [python, "-c", EMPTY_APP],
        'python -c "import ecg_ontology"': [python, "-c", "import ecg_ontology"],
        "ecgonto route 164889003": [tool, "route", "164889003"],
        'python -c "import rdflib"': [python, "-c", "import rdflib"],
        'python -c "import owlready2"': [python, "-c", "import owlready2"],
    }
    seconds = cpu_seconds(15, *commands.values())
    for name, used in zip(commands, seconds, strict=True):
        print(f"{used:.3f} s  {used / seconds[0]:.2f}x  {name}")


def clusters(families: int, n: int) -> ConceptGraph:
    """A ring of roots with leaves dealt out to them, and every other pair of neighbours in it joined."""
    edges = [(Kind.ring, i, (i + 1) % families) for i in range(families)]
    edges += [(Kind.family, i, i % families) for i in range(families, n)]
    edges += [(Kind.sibling, i, i + families) for i in range(families, n - families, 2)]
    return ConceptGraph(n, [Relation(kind=kind, source=a, target=b) for kind, a, b in edges])


def large_graph(n: int = 1000) -> None:
    y = np.eye(n, dtype=np.uint8)
    primary = np.arange(n)

    def ours() -> None:
        graph = clusters(8, n)
        _ = graph.a_hat, soft_targets(y, primary, graph.distances, 1.0)

    def by_networkx() -> None:
        dict(nx.all_pairs_shortest_path_length(clusters(8, n).networkx))

    fast, slow = best_of(3, ours), best_of(2, by_networkx)
    print(f"{n} concepts: D, Â, targets in {fast:.3f} s; D by networkx {slow:.3f} s: {slow / fast:.1f}x")


if __name__ == "__main__":
    supervision()
    cold_start()
    large_graph()
