"""`marecg report`: write the page report.html of a run.

Shapes: N concepts, K concept width (d_c).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from ecg_base import read_bounded, refuse_others, replacing, write_text
from ecg_records.storage.documents import read_json
from marecg.base.numbers import refuse_impossible
from marecg.corpus import trained_on
from marecg.corpus.prepared import Corpus
from marecg.errors import CheckpointError, CorpusError, UsageError
from marecg.model.card import ancestor_text, ancestors, sources
from marecg.model.mar_ecg import MarEcg
from marecg.recipes import Config
from marecg.report.charts import curve, matrix
from marecg.report.neighbours import neighbours
from marecg.report.page import Figure, Section, facts, folded, page, table
from marecg.report.probes import probes
from marecg.report.records import from_corpus, record_section
from marecg.report.svg import standalone
from marecg.report.texts import caption
from marecg.train.callbacks import METRICS_BYTES

LARGEST = 1e100
"""Largest accepted number in the tables of a run. The axes of a chart can't show larger numbers."""


def write_report(run: str | Path, data: str | Path | None = None, out: str | Path | None = None) -> Path:
    """Write a run's page, and its pictures as SVG files.

    Args:
        run: folder of a finished run.
        data: prepared corpus, whose records and their nearest neighbours are shown; None to leave them out.
        out: HTML file. Its pictures are written to a folder with the same name, without the suffix. If None,
            the page is report.html in the folder of the run, and the pictures are in the subfolder pictures.

    Returns:
        The path of the page, which has at most a few megabytes.

    Raises:
        CheckpointError: the folder doesn't contain a finished run, or its graph isn't the corpus' graph.
        CorpusError: `data` isn't a prepared corpus, or is empty.
        UsageError: `out` has no suffix, or the folder for its pictures contains other files.
    """
    run = Path(run)
    page_path = run / "report.html" if out is None else Path(out)
    pictures = run / "pictures" if out is None else page_path.with_suffix("")
    if pictures == page_path:
        problem = "must have a suffix, because the name without it is the folder of the pictures"
        raise UsageError(problem, where=page_path, remedy="End it in .html")
    refuse_others(pictures, lambda name: name.endswith(".svg"))  # pictures of an older page may be replaced
    corpus = None if data is None else Corpus.open(data)
    if corpus is not None and not len(corpus):
        remedy = "See report.json in the corpus for the reasons why records were left out"
        raise CorpusError("must have records, got none", where=corpus.folder, remedy=remedy)
    model = MarEcg.from_pretrained(run / "model", ontology=None if corpus is None else corpus.ontology())
    config, losses = _config(run)
    sections = list(_sections(run, model, config, losses, corpus))
    with replacing(pictures, private=True) as temporary:
        temporary.mkdir()
        for figure in (figure for section in sections for figure in section.figures):
            for number, picture in enumerate(figure.pictures, start=1):
                name = figure.name + (f"-{number:02d}" if len(figure.pictures) > 1 else "")
                (temporary / f"{name}.svg").write_text(standalone(picture), encoding="utf-8")
    lead = f"Recipe {config.name}: what the encoder was trained on, what it learned, and how it was tested."
    write_text(page_path, page(run.resolve().name, lead, sections), private=True)
    return page_path


def _sections(
    run: Path, model: MarEcg, config: Config, losses: dict[str, str], corpus: Corpus | None
) -> Iterator[Section]:
    yield origin(model, config)
    if corpus is not None:
        shown = from_corpus(corpus, corpus.ontology(), trained_on.read(run))
        for number, record in enumerate(shown, start=1):
            yield record_section(model, record, number)
        yield neighbours(model, corpus)
    yield probes(run, model.ontology)
    yield from training(run, losses, len(model.ontology))
    if config.gscl is not None:
        yield prototypes(model, config.gscl.sigma)


def _config(run: Path) -> tuple[Config, dict[str, str]]:
    """Return the run's recipe and the meaning of each loss. Objectives of the recipe needn't be installed."""
    path = run / "config.json"
    description = read_json(path, "Give the folder of a finished run", CheckpointError)
    try:
        config = Config.model_validate(description["config"], context={"elsewhere": True})
        return config, config.captions | dict(description.get("captions", {}))
    except (ValueError, KeyError, TypeError) as error:
        problem = " ".join(str(error).split())[:200]
        problem = f"isn't the configuration of a run ({problem})"
        raise CheckpointError(problem, where=path, remedy="Train the run again") from error


def origin(model: MarEcg, config: Config) -> Section:
    """Return the section on a run's training: corpus, versions, duration and settings."""
    settings = json.dumps(config.model_dump(mode="json"), indent=2)
    return Section(
        "What was trained",
        [
            origin_table(model, [("recipe", config.name), ("seed", str(config.train.seed))]),
            folded("Every setting", Markup("<pre>{}</pre>").format(settings)),
        ],
    )


def origin_table(model: MarEcg, first: Sequence[tuple[str, str]] = ()) -> Markup:
    """Return a table of the encoder's size, training and ontology, after the rows `first`."""
    provenance = model.provenance
    ontology = model.ontology.header
    rows = list(first)
    if provenance is not None:
        rows += [
            ("optimiser steps", f"{provenance.steps:,}"),
            ("records", f"{provenance.records:,}: {sources(provenance)}"),
            *(("began from", ancestor_text(run)) for run in ancestors(provenance)),
            ("versions", f"marecg {provenance.version}, torch {provenance.torch}"),
        ]
        if provenance.seconds is not None:
            since = " since it was resumed" if provenance.resumed else ""
            took = f"{timedelta(seconds=round(provenance.seconds))}{since}, on {provenance.devices}"
            rows.append(("training took (h:mm:ss)", took))
    rows += [
        ("encoder", f"width {model.config.width}, {model.config.depth} layers"),
        ("context", f"{model.config.context / model.config.fs:g} s at {model.config.fs} Hz"),
        ("ontology", f"{ontology.title} {ontology.version}, {len(model.ontology)} concepts"),
        ("enumeration, SHA-256", model.ontology.sha256),
    ]
    return table(("", ""), rows)


def training(run: Path, measures: Mapping[str, str], concepts: int) -> list[Section]:
    """Return sections with the curves of metrics.csv and monitors.csv.

    Args:
        run: folder of the run.
        measures: description of each loss, by its column in metrics.csv.
        concepts: number of concepts in the graph.
    """
    losses = _columns(run / "metrics.csv")
    meanings = "; ".join(f"{name}: {meaning}" for name, meaning in measures.items() if name in losses)
    text = caption("training", losses=meanings)
    sections = [Section("Training", [_curves("training", losses, text)])]
    if (run / "monitors.csv").exists():
        text = caption("collapse", entropy=np.log(concepts))
        curves = _curves("collapse", _columns(run / "monitors.csv"), text)
        sections.append(Section("Signs of collapse", [curves]))
    return sections


def prototypes(model: MarEcg, sigma: float) -> Section:
    """Return a section that compares the prototypes' cosines with exp(−D/σ) (the paper's eq. gscl-target).

    The prototypes are the model's vectors of the concepts. exp(−D/σ) is the closeness of two concepts at
    distance D in the graph, where σ is `sigma`. Close concepts should have similar vectors after training.
    """
    order = list(model.ontology.by_family)
    names = [model.ontology.nodes[index].abbr for index in order]
    prototypes_NK = model.prototypes.cpu().numpy()[order]
    closeness_NN = np.exp(-model.ontology.distances[np.ix_(order, order)] / sigma)
    return Section(
        "Prototypes and the graph",
        [
            Figure(
                "prototypes",
                [
                    matrix(prototypes_NK @ prototypes_NK.T, names, names, "cosine of the prototypes"),
                    matrix(closeness_NN, names, names, f"exp(−D/σ) of the graph, σ = {sigma:g}"),
                ],
                caption("prototypes"),
                kind="row",
            )
        ],
    )


def _curves(name: str, columns: Mapping[str, NDArray[np.float64]], text: str) -> Figure | Markup:
    """Return a figure with a curve for each column, or a list of values if there is only one row."""
    steps = columns["step"]
    values = {name: column for name, column in columns.items() if name not in {"step", "epoch"}}
    if len(steps) < 2:
        return facts({name: f"{column[0]:.4g}" for name, column in values.items()})
    pictures = [curve(steps, column, title) for title, column in values.items()]
    return Figure(name, pictures, text, kind="panels")


def _columns(path: Path) -> dict[str, NDArray[np.float64]]:
    content = read_bounded(path, "Train the run again", CheckpointError, METRICS_BYTES)
    try:
        table = pd.read_csv(BytesIO(content), index_col=False, dtype=np.float64)
        names = [str(name) for name in table]
        if table.empty or names[0] != "step" or not all(map(str.isprintable, names)):
            raise ValueError("the first column must be step, and names must be printable")
    except ValueError as error:
        raise CheckpointError("isn't a table of numbers", where=path, remedy="Train the run again") from error
    columns = {name: table[name].to_numpy() for name in names}
    for name, values in columns.items():
        known = values[~np.isnan(values)]  # a step without finite losses is NaN
        refuse_impossible(
            known, name, path, "Train the run again", CheckpointError, least=-LARGEST, most=LARGEST
        )
    return columns
