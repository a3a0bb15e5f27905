"""A classifier's page and card: its figures on test with charts, and the worst errors as ECGs.

Shapes: C leads, L samples, M test records.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from ecg_ontology import replacing
from marecg.base.config import LEADS
from marecg.corpus.prepared import Corpus
from marecg.evaluate.classify import CARD, EVALUATION, PAGE, PREDICTIONS, Evaluation
from marecg.report.classifier_charts import confusion, precision_recall, reliability_chart, roc
from marecg.report.page import STYLE, TEMPLATES
from marecg.report.tracing import tracing
from marecg.use.classifier_folder import MARK, Description

WORST = 2
"""Of each class and kind of error."""
SHOWN = 6
"""Classes whose worst errors are shown, those with the most positives."""


def write_classifier_report(folder: Path, corpus: Corpus) -> Path:
    """Write `report.html` and the card `README.md` of a classifier into its folder.

    Args:
        folder: what `evaluate.classify.fit_classifier` wrote.
        corpus: the one that it was judged on.

    Returns:
        The page.

    Raises:
        OutputError: it can't be written.
    """
    found = Evaluation.model_validate_json((folder / EVALUATION).read_bytes())
    said = Description.model_validate_json((folder / MARK).read_bytes())
    frame = pd.read_parquet(folder / PREDICTIONS)
    order = {node.abbr: node.index for node in corpus.ontology().nodes}
    names = sorted(map(str, said.classes), key=lambda name: order.get(name, -1))
    cut_of = dict(zip(map(str, said.classes), said.thresholds, strict=True))
    cuts = [cut_of[name] for name in names]
    values: dict[str, Any] = {
        "found": found,
        "classes": list(zip(said.classes, said.calibrations, said.thresholds, strict=True)),
        "whole": [each for each in found.scores if not each.group],
        "groups": [each for each in found.scores if each.group],
        "test": len(frame),
        "seen": found.seen,
        "leak": found.leak,
        "percent": lambda value: f"{100 * value:.1f}",
        "folder": folder.name,
        **{name: getattr(said, name) for name in ("layers", "step", "rule", "fs")},
    }
    charts = {
        "style": Markup(STYLE.read_text(encoding="utf-8")),  # noqa: S704 (ours)
        "roc": roc(frame, names, cuts),
        "precision_recall": precision_recall(frame, names, cuts),
        "reliability": Markup().join(reliability_chart(frame, name) for name in names),
        "confusion": confusion(frame, names, cuts),
        "worst": list(_worst(frame, found, cut_of, corpus)),
    }
    for file, template in ((CARD, "classifier.md.j2"), (PAGE, "classifier.html.j2")):
        text = TEMPLATES.get_template(template).render(**values, **charts)
        with replacing(folder / file) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return folder / PAGE


def _worst(
    frame: pd.DataFrame, found: Evaluation, cut_of: dict[str, float], corpus: Corpus
) -> Iterator[dict[str, Any]]:
    """The records that were called, or not called, most wrongly."""
    whole = sorted((each for each in found.scores if not each.group), key=lambda each: -each.positives)
    for score in whole[:SHOWN]:
        cut, name = cut_of[score.name], score.name
        p_M, y_M = frame[f"p {name}"], frame[f"label {name}"]
        missed = frame[(y_M == 1) & (p_M < cut)].nsmallest(WORST, f"p {name}")
        false = frame[(y_M == 0) & (p_M >= cut)].nlargest(WORST, f"p {name}")
        for what, rows in (("missed", missed), ("called, and not labelled", false)):
            for row in rows.to_dict("records"):
                x_CL = corpus.signals([row["row"]])[0][:, : corpus.n_valid[row["row"]]]
                leaves = ", ".join(
                    corpus.ontology().nodes[leaf].abbr for leaf in np.flatnonzero(corpus.y[row["row"]])
                )
                yield {
                    "title": f"{name} {what}: {row['name']}",
                    "ecg": Markup(tracing(x_CL, corpus.config.fs, LEADS, f"12-lead ECG of {row['name']}")),  # noqa: S704 (drawn here)
                    "caption": f"p {row[f'p {name}']:.1%}, called from {cut:.1%} on; codes in the corpus: "
                    f"{leaves or 'none'}{'; in the pretraining' if row['seen'] else ''}",
                }
