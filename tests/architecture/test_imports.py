"""Who may import whom, and what a quick command must not load."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


def test_imports_run_one_way():
    # In a process of its own: import-linter silences every logger that it finds.
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


CHAINS = {
    "Python": {
        "import ecg_ontology": {"torch", "numpy", "rdflib", "networkx", "owlready2"},
        "import marecg": {"torch", "lightning", "torch_geometric"},
        "from marecg import recipes; recipes.c3()": {"torch_geometric", "lightning", "sklearn"},
        "from marecg import MarEcg, embed": {"torch_geometric", "lightning", "sklearn"},
    },
    "training": {"import marecg.train.run": {"torch_geometric", "neurokit2"}},
    "marecg": {
        "from marecg_cli.marecg import main; main(['--help'])": {"torch", "sklearn", "scipy", "marecg"},
        "main(['probe', '--help'])": {"torch", "sklearn"},
    },
    "ecgonto route": {
        "from marecg_cli.ecgonto import main; main(['route', '164889003'])": {"numpy", "networkx", "rich"}
    },
    "ecgonto": {
        "from marecg_cli.ecgonto import main; main(['--help'])": {"numpy", "pydantic", "rdflib"},
        "main(['route', '164889003'])": {"torch", "numpy", "rdflib", "networkx"},
    },
}
"""One after the other in a process of their own: each loads what it needs, and nothing of its set."""
SCRIPT = """
import json, sys
for statement in json.loads(sys.argv[1]):
    try:
        exec(statement)
    except SystemExit as end:
        assert not end.code
    print("\\n" + json.dumps([statement, sorted({name.partition('.')[0] for name in sys.modules})]))
"""


@pytest.mark.parametrize(
    "chain", [pytest.param(chain, marks=pytest.mark.slow if chain == "training" else ()) for chain in CHAINS]
)
def test_what_is_quick_loads_nothing_heavy(chain):
    command = [sys.executable, "-c", SCRIPT, json.dumps(list(CHAINS[chain]))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith('["'))
    assert loaded.keys() == CHAINS[chain].keys()
    for statement, unwanted in CHAINS[chain].items():
        assert not unwanted & set(loaded[statement]), statement
