"""Define the command group `marecg classify`, which trains classifiers on labelled ECGs."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ecg_base import UsageError
from marecg_cli._commands import SETTINGS
from marecg_cli._corpus_text import tell_quarantined
from marecg_cli._options import LOCAL, As, refuse_missing, set_option
from marecg_cli._output import message, result, result_json

SUMMARY = "Train a classifier on labelled ECGs."
EXAMPLE = "marecg classify fit marecg-small-codes --data corpus --labels labels.csv --out runs/classifier"
classify = typer.Typer(help=f"{SUMMARY}\n\nExample: {EXAMPLE}", **SETTINGS)

Encoder = Annotated[str, typer.Argument(metavar="MODEL", help="Run folder or model; stays unchanged.")]
Set = Annotated[
    list[str] | None,
    set_option(
        "Change a setting, for example readout=wide, steps=1500, balanced=true or seed=0; may be repeated."
    ),
]


@classify.command(rich_help_panel="Classifiers")
def fit(
    model: Encoder,
    data: Annotated[
        Path, typer.Option(**LOCAL, help="Corpus, or a folder of records, which is prepared first.")
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Classifier folder to write.")],
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="Table with the names of the records and a column of 0 and 1 per class (empty: unknown);"
            " optional column `split`. [default: the leaves in the corpus]",
        ),
    ] = None,
    layers: Annotated[str, typer.Option(help="Layers to train: head, last:N or all.")] = "head",
    calibration: Annotated[
        Literal["best", "temperature", "isotonic", "none"],
        typer.Option(help="Calibration; best selects a method per class by validation log loss."),
    ] = "best",
    threshold: Annotated[
        str, typer.Option(help="Rule for thresholds: youden, f1, sensitivity=.9 or specificity=.95.")
    ] = "youden",
    exclusive: Annotated[
        bool, typer.Option("--exclusive", help="Require exactly one class per record.")
    ] = False,
    prevalence: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS=SHARE",
            help="Expected prevalence of a class, for example AF=0.02; adds the PPV at this prevalence; "
            "may be repeated.",
        ),
    ] = None,
    set_: Set = None,
    form: As = "text",
) -> None:
    """Train a calibrated classifier on labelled ECGs and test it on unseen patients.

    `marecg predict`, `embed`, `export` and `report` accept the resulting folder as a model. If --data is a
    folder of records, the records are first prepared in OUT-corpus.

    Example: marecg classify fit marecg-small-codes --data corpus --labels labels.csv --out clf
    """
    from marecg.model.names import local_folder
    from marecg_cli._settings import Training, read

    training: dict[str, Any] = {"readout": "best"} | read(Training, set_).given()
    shares = dict(map(_share, prevalence or ()))
    refuse_missing(data, labels)
    local_folder(model)
    from marecg.classify.classifier import EcgClassifier
    from marecg.classify.fit_classifier import embedding_folder, fit_classifier
    from marecg.corpus.prepared import Corpus
    from marecg.report.classifier import few_positives, heads_and_rows, write_classifier_report
    from marecg_cli._scores_text import plain_text, rich_table

    classifier = EcgClassifier(model, layers, calibration=calibration, threshold=threshold, **training)
    data = _prepared(data, model, out)
    evaluation = fit_classifier(classifier, data, out, labels, exclusive=exclusive, prevalence=shares)
    message(f"page: {write_classifier_report(out, Corpus.open(data))}")
    if evaluation.missing:
        names = ", ".join(map(str, evaluation.missing_names))
        more = ", …" * (evaluation.missing > len(evaluation.missing_names))
        message(f"{evaluation.missing:,} labelled records aren't in the corpus: {names}{more}")
    if few := few_positives(evaluation.scores):
        message(few)
    for score in evaluation.scores:
        if score.prevalence is not None:
            value = "–" if score.ppv_at_prevalence is None else f"{score.ppv_at_prevalence:.1%}"
            message(f"PPV of {score.name} at a prevalence of {score.prevalence:.3g}: {value}")
    message(evaluation.leak)
    if evaluation.reused:
        folder = embedding_folder(data, out)
        message(f"embedding: {evaluation.reused:,} records reused from an earlier run in {folder}")
    tried = ", ".join(f"{name} {loss:.3f}" for name, loss in evaluation.losses.items())
    message(f"readout: {evaluation.readout} (log loss on validation: {tried})")
    if evaluation.readout != "wide":
        message("marecg export requires the wide readout. To train it, use --set readout=wide")
    if form == "json":
        result_json(evaluation.model_dump(mode="json"))
        return
    scores = [score for score in evaluation.scores if not score.group]
    result(plain_text([rich_table(*heads_and_rows(scores))]))


def _prepared(data: Path, model: str, out: Path) -> Path:
    """Return the folder of a corpus. If `data` is a folder of records, a corpus is prepared next to `out`.

    The model is loaded first, so that a wrong model name fails before the long preparation.
    """
    from marecg.corpus.index import ABOUT
    from marecg.corpus.prepare import prepare
    from marecg.model.mar_ecg import MarEcg

    if not data.is_dir() or (data / ABOUT).is_file() or (data / "building").is_dir():
        return data
    MarEcg.from_pretrained(model)
    corpus = out.with_name(f"{out.name}-corpus")
    message(f"{data} is a folder of records. They are prepared in {corpus}; use it as --data next time")
    account = prepare([data], corpus)
    tell_quarantined(account.records, corpus / "report.json")
    return corpus


def _share(text: str) -> tuple[str, float]:
    name, _, share = text.rpartition("=")
    try:
        return name, float(share)
    except ValueError as error:
        remedy = "For example, AF=0.02"
        raise UsageError(
            f"a prevalence must have the form CLASS=SHARE, got {text!r}", where="--prevalence", remedy=remedy
        ) from error
