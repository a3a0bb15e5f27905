"""`marecg classify`: an encoder trained on labels, as a classifier to use and as a row of a table.

Each command imports what it runs inside itself, so that `marecg --help` stays quick and loads no torch.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from marecg_cli._commands import add, application, one_of
from marecg_cli._evaluation import _tasks
from marecg_cli._given import PLACE, Folds
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


class Calibrate(StrEnum):
    """How logits become probabilities."""

    best = "best"
    temperature = "temperature"
    isotonic = "isotonic"
    none = "none"


def fit(
    model: Encoder,
    data: Annotated[Path, typer.Option(**PLACE, help="A prepared corpus.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the classifier is kept.")],
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="A column that names the records, then one of 0 and 1 for each class; empty is unknown. A "
            "column `split` may say train, val or test. [default: the corpus' leaves]",
            show_default=False,
        ),
    ] = None,
    layers: Annotated[str, typer.Option(help="head, last:N blocks, or all.")] = "head",
    calibration: Annotated[
        Calibrate, typer.Option(help="best takes, by class, what has the least log loss on validation.")
    ] = Calibrate.best,
    threshold: Annotated[
        str, typer.Option(help="When a class is called: youden, f1, sensitivity=.9 or specificity=.95.")
    ] = "youden",
    steps: Steps = 1500,
    patience: Patience = 300,
    batch_size: BatchSize = 32,
    lr: Rate = 3e-4,
    balanced: Balanced = False,
    seed: Annotated[int, typer.Option(help="Of the order of records and windows.", min=0)] = 0,
    format_: Annotated[Format, typer.Option("--format", help="How to print the figures.")] = Format.text,
) -> None:
    """Train a calibrated classifier on a corpus with labels, and judge it on patients it has not seen.

    The folder is a model for `marecg predict`, `embed`, `export` and `report`.

    Example: marecg classify fit marecg-small --data corpus --labels labels.csv --out clf
    """
    from marecg.corpus.prepared import Corpus
    from marecg.evaluate.classify import fit_classifier
    from marecg.report.classifier import write_classifier_report
    from marecg.use.classifier import EcgClassifier

    classifier = EcgClassifier(
        model,
        layers,
        steps=steps,
        batch_size=batch_size,
        lr=lr,
        patience=patience,
        balanced=balanced,
        calibration=calibration.value,
        threshold=threshold,
        seed=seed,
    )
    found = fit_classifier(classifier, data, out, labels, watch=passing)
    message(f"page: {write_classifier_report(out, Corpus.open(data))}")
    if found.missing:
        message(f"{found.missing:,} records that the labels name are not in the corpus")
    message(found.leak)
    if format_ is Format.json:
        result_json(found.model_dump(mode="json"))
        return
    result(f"{'':<12} test  positive  AUC  95 %       ECE before → after  sensitivity  specificity")
    for each in found.scores:
        if not each.group:
            result(
                f"{each.name:<12} {each.records:4,}  {each.positives:8,}  {100 * each.auc:4.1f} "
                f"{100 * each.low:4.1f}–{100 * each.high:5.1f}  {each.ece_before:9.3f} → {each.ece:.3f}  "
                f"{100 * each.sensitivity:11.1f}  {100 * each.specificity:11.1f}"
            )


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
        run,
        task,
        root,
        how,
        fractions=fraction or (1.0,),
        seeds=seeds,
        folds=folds or (),
        out=out,
        watch=passing,
    )
    for line in remarks(report):
        message(line)
    if output is Format.json:
        result_json(report.model_dump(mode="json"))
    else:
        result(probe_text(report))


app = application(
    "Train a classifier on labelled ECGs, or judge how well an encoder can be fine-tuned.\n\n"
    "Example: marecg classify fit marecg-small --data corpus --labels labels.csv --out clf",
    {"classifiers": ("fit", "judge")},
)
add(app, (fit, judge))
