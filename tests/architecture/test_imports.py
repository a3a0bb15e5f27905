"""Who may import whom, and what a quick command must not load."""

import subprocess
import sys
from pathlib import Path

import pytest


def test_imports_run_one_way():
    # In a process of its own: import-linter silences every logger that it finds.
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import ecg_ontology", {"torch", "rdflib", "networkx", "owlready2"}),
        ("import marecg", {"torch", "lightning", "torch_geometric"}),
        ("from marecg import recipes; recipes.c3()", {"torch_geometric", "lightning", "sklearn"}),
        ("from marecg_cli.marecg import main; main(['--help'])", {"torch", "sklearn", "scipy", "marecg"}),
        ("from marecg_cli.ecgonto import main; main(['--help'])", {"numpy", "pydantic", "rdflib"}),
        (
            "from marecg_cli.ecgonto import main; main(['route', '164889003'])",
            {"torch", "numpy", "rdflib", "networkx"},
        ),
        (
            "from marecg.use.embed import embed; from marecg.model.mar_ecg import MarEcg",
            {"torch_geometric", "lightning", "sklearn"},
        ),
        ("import marecg.train.run", {"torch_geometric", "neurokit2"}),
    ],
)
def test_what_is_quick_loads_nothing_heavy(statement, unwanted):
    script = (
        "import sys\n"
        f"try:\n    exec({statement!r})\nexcept SystemExit as end:\n    assert not end.code\n"
        "print('\\n' + ' '.join({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not unwanted & set(done.stdout.splitlines()[-1].split())
