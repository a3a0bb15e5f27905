"""`marecg classify`: an encoder trained on labels, as a classifier to use and as a row of a table.

Each command imports what it runs inside itself, so that `marecg --help` stays quick and loads no torch.
"""

from pathlib import Path
from typing import Annotated

import typer

from marecg_cli._commands import add, application, one_of
from marecg_cli._evaluation import _tasks
from marecg_cli._given import Folds
from marecg_cli._output import Format, message, result, result_json
from marecg_cli._progress import passing

Encoder = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="A run folder, or an installed model; it stays as it is."),
]
Steps = Annotated[int, typer.Option(help="Of fine-tuning at most; validation stops it before.", min=1)]
Patience = Annotated[int, typer.Option(help="Steps without a gain on validation.", min=1)]
BatchSize = Annotated[int, typer.Option(help="Records per step.", min=1)]
Rate = Annotated[float, typer.Option(help="The head's peak; a block's is 0.75 of the one above it.")]
Balanced = Annotated[bool, typer.Option("--balanced", help="Weigh a class's positives and negatives alike.")]


def judge(
    run: Encoder,
    root: Annotated[Path, typer.Option(metavar="PATH", help="The task's data.")],
    task: Annotated[
        str, typer.Option(help="As for probe: a task's name, or FILE.py:NAME.", **one_of(_tasks))
    ] = "ptbxl-super",
    fraction: Annotated[
        list[float] | None,
        typer.Option(help="Share of the training records; repeatable. [default: 1]", show_default=False),
    ] = None,
    layers: Annotated[
        list[str] | None,
        typer.Option(help="head, last:N blocks or all; may be repeated. [default: all]", show_default=False),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Draws for every share below 1.")] = 3,
    folds: Folds = None,
    steps: Steps = 1500,
    patience: Patience = 300,
    batch_size: BatchSize = 32,
    lr: Rate = 3e-4,
    balanced: Balanced = False,
    out: Annotated[
        Path | None, typer.Option(help="Where the report goes. [default: the run folder]", show_default=False)
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="How the report is printed.")] = Format.text,
) -> None:
    """Fine-tune an encoder on a task's labels, choose the step on validation, and score test once.

    `marecg table RUN --protocol finetune` shows its rows.

    Example: marecg classify judge runs/c3 --task ptbxl-super --root data/ptb-xl --layers head --layers all
    """
    from marecg.evaluate.finetune import finetune
    from marecg.use.tuning import Tuning
    from marecg_cli._probe_text import probe_text, remarks

    how = [
        Tuning(each, steps, batch_size, lr, patience=patience, balanced=balanced)
        for each in layers or ["all"]
    ]
    report = finetune(
        run, task, root, how, fractions=fraction or (1.0,), seeds=seeds, folds=folds, out=out, watch=passing
    )
    for line in remarks(report):
        message(line)
    if output is Format.json:
        result_json(report.model_dump(mode="json"))
    else:
        result(probe_text(report))


app = application(
    "Train a classifier on labelled ECGs, or judge how well an encoder can be fine-tuned.\n\n"
    "Example: marecg classify judge runs/c3 --task ptbxl-super --root data/ptb-xl",
    {"classifiers": ("judge",)},
)
add(app, (judge,))
