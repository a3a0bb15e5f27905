"""What a report says of the training: where it comes from, its curves, its prototypes, its settings.

Shapes: N concepts, K concept width (d_c).
"""

import csv
import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import numpy as np
from markupsafe import Markup

from marecg.base.errors import CheckpointError
from marecg.model.card import ancestors, sources, told
from marecg.model.mar_ecg import MarEcg
from marecg.recipes import Config
from marecg.report import captions
from marecg.report.charts import curve, matrix
from marecg.report.page import Figure, Section, facts, folded, table


def origin(model: MarEcg, config: Config) -> Section:
    """What the run was trained on, by which versions, for how long, and every setting."""
    settings = json.dumps(config.model_dump(mode="json"), indent=2)
    return Section(
        "What was trained",
        [
            origin_table(model, [("recipe", config.name), ("seed", str(config.train.seed))]),
            folded("Every setting", Markup("<pre>{}</pre>").format(settings)),
        ],
    )


def origin_table(model: MarEcg, first: Sequence[tuple[str, str]] = ()) -> Markup:
    """Which encoder it is, and what is known of where it comes from."""
    provenance = model.provenance
    ontology = model.ontology.header
    rows = list(first)
    if provenance is not None:
        rows += [
            ("optimiser steps", f"{provenance.steps:,}"),
            ("records", f"{provenance.records:,}: {sources(provenance)}"),
            *(("began from", told(each)) for each in ancestors(provenance)),
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
    """The curves of metrics.csv, and those of monitors.csv where there are any; q is over `concepts`."""
    losses = _columns(run / "metrics.csv")
    named = "; ".join(f"{name}: {meaning}" for name, meaning in measures.items() if name in losses)
    caption = captions.TRAINING.format(losses=named)
    sections = [Section("Training", [_curves("training", losses, caption)])]
    if (run / "monitors.csv").exists():
        caption = captions.COLLAPSE.format(entropy=np.log(concepts))
        shown = _curves("collapse", _columns(run / "monitors.csv"), caption)
        sections.append(Section("Signs of collapse", [shown]))
    return sections


def prototypes(model: MarEcg, sigma: float) -> Section:
    """The prototypes' cosines beside exp(−D/σ), the closeness that the graph asks for (eq. gscl-target)."""
    order = list(model.ontology.by_family)
    names = [model.ontology.nodes[index].abbr for index in order]
    prototypes_NK = model.prototypes.cpu().numpy()[order]
    closeness_NN = np.exp(-model.ontology.distances[np.ix_(order, order)] / sigma)
    return Section(
        "Prototypes beside the graph",
        [
            Figure(
                "prototypes",
                [
                    matrix(prototypes_NK @ prototypes_NK.T, names, names, "cosine of the prototypes"),
                    matrix(closeness_NN, names, names, f"exp(−D/σ) of the graph, σ = {sigma:g}"),
                ],
                captions.PROTOTYPES,
                kind="row",
            )
        ],
    )


def _curves(name: str, columns: Mapping[str, Sequence[float]], caption: str) -> Figure | Markup:
    """A curve per column; of one row its values, for one point isn't a curve."""
    steps = columns["step"]
    values = {each: column for each, column in columns.items() if each not in {"step", "epoch"}}
    if len(steps) < 2:
        return facts({each: f"{column[0]:.4g}" for each, column in values.items()})
    pictures = [curve(steps, column, each) for each, column in values.items()]
    return Figure(name, pictures, caption, kind="panels")


def _columns(path: Path) -> dict[str, list[float]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return {name: [float(row[name]) for row in rows] for name in rows[0]}
    except FileNotFoundError as error:
        raise CheckpointError("is missing", where=path, remedy="Name the folder of a finished run") from error
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise CheckpointError("isn't a table of numbers", where=path, remedy="Train the run again") from error
