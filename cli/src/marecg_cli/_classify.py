"""`marecg classify`: train an encoder on labels, as a classifier."""

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

Encoder = Annotated[str, typer.Argument(metavar="MODEL", help="Run folder or model; it isn't changed.")]
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
            help="Table with the records' names and a column of 0 and 1 per class (empty: unknown);"
            " optional column `split`. [default: the corpus' leaves]",
        ),
    ] = None,
    layers: Annotated[str, typer.Option(help="Layers to train: head, last:N or all.")] = "head",
    calibration: Annotated[
        Literal["best", "temperature", "isotonic", "none"],
        typer.Option(help="Calibration; best chooses for each class by validation log loss."),
    ] = "best",
    threshold: Annotated[
        str, typer.Option(help="Rule for thresholds: youden, f1, sensitivity=.9 or specificity=.95.")
    ] = "youden",
    exclusive: Annotated[
        bool, typer.Option("--exclusive", help="Each record has exactly one class.")
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

    `marecg predict`, `embed`, `export` and `report` take the resulting folder as a model. If --data is a
    folder of records, they are first prepared in OUT-corpus.

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
        message(f"{evaluation.missing:,} records that the labels name aren't in the corpus: {names}{more}")
    if few := few_positives(evaluation.scores):
        message(few)
    for score in evaluation.scores:
        if score.prevalence is not None:
            value = "–" if score.ppv_at_prevalence is None else f"{score.ppv_at_prevalence:.1%}"
            message(f"PPV of {score.name} where {score.prevalence:.3g} of the records have it: {value}")
    message(evaluation.leak)
    if evaluation.reused:
        folder = embedding_folder(data, out)
        message(f"embedding: {evaluation.reused:,} records taken from {folder}, of an earlier run")
    tried = ", ".join(f"{name} {loss:.3f}" for name, loss in evaluation.losses.items())
    message(f"readout: {evaluation.readout} (log loss on validation: {tried})")
    if evaluation.readout != "wide":
        message("marecg export writes only classifiers of the wide readout: --set readout=wide fits one")
    if form == "json":
        result_json(evaluation.model_dump(mode="json"))
        return
    result(plain_text([rich_table(*heads_and_rows([one for one in evaluation.scores if not one.group]))]))


def _prepared(data: Path, model: str, out: Path) -> Path:
    """The corpus, or one prepared beside `out` from the records in that folder, once the model is there."""
    from marecg.corpus.index import ABOUT
    from marecg.corpus.prepare import prepare
    from marecg.model.mar_ecg import MarEcg

    if not data.is_dir() or (data / ABOUT).is_file() or (data / "building").is_dir():
        return data
    MarEcg.from_pretrained(model)
    corpus = out.with_name(f"{out.name}-corpus")
    message(
        f"{data} holds records, not a corpus: they are prepared in {corpus}, which --data takes next time"
    )
    account = prepare([data], corpus)
    tell_quarantined(account.records, corpus / "report.json")
    return corpus


def _share(text: str) -> tuple[str, float]:
    name, _, share = text.rpartition("=")
    try:
        return name, float(share)
    except ValueError as error:
        remedy = "Write CLASS=SHARE, such as AF=0.02"
        raise UsageError(
            f"a prevalence must look like CLASS=0.02, got {text!r}", where="--prevalence", remedy=remedy
        ) from error
