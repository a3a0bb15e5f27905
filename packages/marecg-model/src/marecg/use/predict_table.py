"""`marecg predict` of many records or steps: a row for each, with what a person joins it by.

Shapes: B records of a block, K classes, N concepts, D width.
"""

from collections import deque
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecg_ontology import replacing
from marecg.base.device import best_device
from marecg.base.errors import UsageError
from marecg.corpus.audit import published_as
from marecg.corpus.index import keep_private
from marecg.model.mar_ecg import MarEcg
from marecg.use.classifier import EcgClassifier
from marecg.use.classifier_folder import is_classifier
from marecg.use.embed import encode
from marecg.use.inputs import Inputs
from marecg.use.predict import concepts
from marecg.use.recordings import Embedded, recordings

BLOCK = 64
"""Records whose signals are in memory at once."""
ABOUT = ("id", "record", "source", "identity", "patient", "start")


def predict_table(run: str | Path, records: Inputs) -> tuple[pd.DataFrame, Embedded]:
    """The shares of all concepts, or a classifier's calibrated probabilities, of every record.

    Args:
        run: a run, a model, or a classifier's folder.
        records: those of files, folders, arrays or corpora.

    Returns:
        A row per record: `id`, as `marecg embed` calls it; `record` and `source`, its own names, such as a
        study's; `identity`, as it was published (`ptbxl/00001`, whose number is the `ecg_id`); `patient`;
        `start`, the second at which a step begins; a column per concept or class; of a classifier `called`,
        the classes that reach their thresholds. And what became of the records: one that can't be read has
        no row.

    Raises:
        InputError: not one record can be read.
        CheckpointError: the model can't be loaded.
        UsageError: it was trained without GSCL or without a label.
    """
    classifier = EcgClassifier.load(run) if is_classifier(run) else None
    model = classifier.encoder if classifier else MarEcg.from_pretrained(run).to(best_device())
    names = classifier.classes_.tolist() if classifier else [node.abbr for node in model.ontology.nodes]
    done, about = Embedded(), deque[dict[str, Any]]()
    whole = recordings(model, chain.from_iterable(records.part(0, len(records))), done, about)
    blocks: list[NDArray[np.floating]] = []
    while block := list(islice(whole, BLOCK)):
        if classifier:
            blocks.append(classifier.predict_recordings(block))
        else:
            rhythm_BD = np.stack([each.rhythm for each in encode(model, block, patches=False)])
            blocks.append(concepts(model, rhythm_BD))
    done.refuse_none()
    shares = pd.DataFrame(np.concatenate(blocks), columns=names)
    rows = [row | {"identity": published_as(row["record"], row["source"])} for row in about]
    table = pd.concat([pd.DataFrame(rows, columns=ABOUT), shares], axis=1)
    if classifier:
        reached = shares.to_numpy() >= classifier.thresholds_
        table["called"] = ["; ".join(str(name) for name in np.array(names)[each]) for each in reached]
    return table, done


def as_csv(table: pd.DataFrame) -> str:
    """The table as text, its shares with six digits."""
    starts = table["start"].map("{:.12g}".format)
    text: str = table.assign(start=starts).to_csv(index=False, float_format="%.6g")
    return text


def predict_into(run: str | Path, records: Inputs, out: Path) -> Embedded:
    """Write `predict_table` to a `.csv` or `.parquet` file, whole or not at all; what became of the records.

    Raises:
        UsageError: the file ends otherwise, or is one that is read; and as `predict_table`.
        OutputError: it can't be written.
    """
    if out.suffix not in (".csv", ".parquet"):
        raise UsageError(f"can't tell a format from {out}", remedy="End it in .csv or .parquet")
    records.refuse(out)
    with replacing(out) as temporary:
        table, done = predict_table(run, records)
        if out.suffix == ".csv":
            temporary.write_text(as_csv(table), encoding="utf-8")
        else:
            table.rename(columns=str).to_parquet(temporary, index=False)
        keep_private(temporary)
    return done
