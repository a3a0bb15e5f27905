"""`marecg`: from a folder of hospital records to a probed encoder."""

import os

from marecg_cli import (
    _ablation,
    _classify,
    _cohort,
    _corpus,
    _data,
    _evaluation,
    _graph,
    _inference,
    _report,
    _training,
)
from marecg_cli._commands import add, application
from marecg_cli._output import run

STAGES = {
    "start": ("demo", "synth", "data"),
    "corpus": ("prepare", "stats", "cohort", "audit"),
    "train": ("recipes", "train", "ablate", "ablate-graph"),
    "evaluate": ("probe", "classify", "table"),
    "use": ("embed", "neighbours", "predict", "export", "report"),
    "develop": ("texts",),
}
"""What the commands are for, in the order of a user's way."""

app = application(
    "Ontology-guided representation learning for 12-lead ECG.\n\nExample: marecg demo",
    STAGES,
    "marecg-cli",
)
for module in (_corpus, _cohort, _training, _ablation, _graph, _evaluation, _inference, _report):
    add(app, module.COMMANDS)
app.add_typer(_data.app, name="data")
app.add_typer(_classify.app, name="classify")


def main(argv: list[str] | None = None) -> None:
    """Run the `marecg` command line."""
    # A thread that waits for another by spinning keeps it from running where other programs run too. OpenMP
    # reads this when torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    run(app, argv)
