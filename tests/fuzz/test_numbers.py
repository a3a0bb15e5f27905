"""Numbers that can't be are refused where a corpus, scores, features or embeddings are read."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from pydantic import ValidationError
from tests.made_records import make_record

from ecg_base import file_sha256
from marecg.base.numbers import refuse_impossible
from marecg.classify.calibration import Calibration
from marecg.classify.classifier_folder import Description
from marecg.classify.classifier_scores import Evaluation
from marecg.corpus import index, trained_on
from marecg.corpus.account import PreparationReport
from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.corpus.statistics import statistics
from marecg.embedding.embedding_files import blocks
from marecg.errors import CheckpointError, CorpusError, InputError
from marecg.evaluate.scores import predictions
from marecg.evaluate.scores.results import Report
from marecg.evaluate.scores.summary import spread
from marecg.model.card import Provenance
from marecg.model.card_figures import Score
from marecg.model.mar_ecg import MarEcg
from marecg.recipes.named import tiny
from marecg.use.answers import Answers

NAN, INF = float("nan"), float("inf")
IMPOSSIBLE = r"must be (finite|at (least|most) [0-9e+-]+), got"


@pytest.mark.parametrize("array", [np.array, torch.tensor])
def test_numbers_are_finite_and_within_bounds(array):
    for values in ([], [0.0, 1.0], [-1e30]):
        refuse_impossible(array(values), "a", "file", "Mend it")
    for values, first in (([0.0, NAN], "nan"), ([-INF, 0.0], "-inf"), ([0.0, INF], "inf")):
        with pytest.raises(InputError, match=rf"\Afile: a {IMPOSSIBLE} {first}\. Mend it\.\Z"):
            refuse_impossible(array(values), "a", "file", "Mend it")
    for values in ([-1, 0], [0, 2], [0, 1 << 40]):
        with pytest.raises(CorpusError, match=IMPOSSIBLE):
            refuse_impossible(array(values), "a", "file", "", CorpusError, least=0, most=1)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("numbers")
    for number in range(2):
        make_record(folder / "records", f"E0000{number}", comments=["Dx: 164889003"])
    prepare([folder / "records"], folder / "corpus", CorpusConfig(), jobs=1)
    return folder / "corpus"


def _forged(folder: Path, source: Path, change: dict[str, object]) -> Path:
    """A corpus whose second row says something else, with the index's hash of a forger."""
    rows = index.of(source)
    changed = rows.to_pylist()
    changed[1].update(change)
    folder.mkdir()
    for path in source.iterdir():
        (folder / path.name).symlink_to(path)
    (folder / index.FILE).unlink()
    pq.write_table(pa.Table.from_pylist(changed, schema=rows.schema), folder / index.FILE)
    about = json.loads((source / "corpus.json").read_text()) | {index.HASH: file_sha256(folder / index.FILE)}
    (folder / "corpus.json").unlink()
    (folder / "corpus.json").write_text(json.dumps(about))
    return folder


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("shard", value) for value in (-1, 1, None)),
        *(("row", value) for value in (-1, 2, None)),  # −1 would be another record's signal
        *(("primary", value) for value in (-2, 40, None)),
        *(("n_valid", value) for value in (-1, 4701, None)),
        *(("leaves", value) for value in ([-1], [40], [None], None)),
        *(("rpeaks", value) for value in ([-1], [4700], [None], None)),
    ],
)
def test_a_row_of_a_corpus_that_cannot_be_is_refused_when_it_is_opened(tmp_path, prepared, column, value):
    folder = _forged(tmp_path / "corpus", prepared, {column: value})
    with pytest.raises(CorpusError, match=rf"index\.parquet: .*\b{column}\b.*prepare it again") as refused:
        Corpus.open(folder)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("column", "value"), [("fs", NAN), ("fs", -500.0), ("length", -1), ("fs", None)])
def test_and_so_are_rates_and_lengths_where_they_are_counted(tmp_path, prepared, column, value):
    with pytest.raises(CorpusError, match=rf"index\.parquet: .*\b{column}\b"):
        statistics(_forged(tmp_path / "corpus", prepared, {column: value}))


@pytest.mark.parametrize("name", ["../../other/shards/00000.npy", "/other/00000.npy"])
def test_a_shard_of_another_folder_is_none_of_a_corpus(tmp_path, prepared, name):
    folder = _forged(tmp_path / "corpus", prepared, {})
    about = json.loads((prepared / "corpus.json").read_text())
    (folder / "corpus.json").unlink()
    (folder / "corpus.json").write_text(json.dumps(about | {"shards": {name: 2}}))
    with pytest.raises(CorpusError, match="isn't the name of a shard"):
        Corpus.open(folder)


@pytest.mark.parametrize(("array", "value"), [("y", 2), ("encoder @ 1", NAN), ("encoder @ 1", INF)])
def test_predictions_that_cannot_be_are_refused(tmp_path, array, value):
    arrays: dict[str, Any] = {
        "y": np.zeros((3, 1)),
        "encoder @ 1": np.zeros((1, 3, 1)),
        "reference": "encoder",
    }
    arrays[array][..., 1, 0] = value
    np.savez(tmp_path / "p.npz", ids=["a", "b", "c"], classes=["AF"], **arrays)
    with pytest.raises(InputError, match=rf"p\.npz: {array} {IMPOSSIBLE}"):
        predictions.load(tmp_path / "p.npz")


@pytest.mark.parametrize("about", [{"window": "-4700", "fs": "500"}, {"window": "4700", "fs": "0"}])
def test_a_list_of_training_records_of_no_rate_or_length_is_refused(tmp_path, about):
    schema = pa.schema(dict.fromkeys(trained_on.HASH_COLUMNS, pa.string()), metadata=about)
    pq.write_table(schema.empty_table(), tmp_path / trained_on.FILE)
    with pytest.raises(InputError, match=IMPOSSIBLE):
        trained_on.read(tmp_path)


def test_vectors_that_are_not_finite_are_refused(tmp_path):
    vectors = pa.array([[1.0, 0.0], [NAN, 0.0]], pa.list_(pa.float32(), 2))
    pq.write_table(pa.table({"id": ["a", "b"], "rhythm": vectors}), tmp_path / "e.parquet")
    with pytest.raises(InputError, match=rf"e\.parquet: rhythm {IMPOSSIBLE} nan\. Embed it again"):
        next(blocks(tmp_path / "e.parquet", ["id", "rhythm"]))


def test_a_mean_of_perfect_scores_may_be_above_one_by_its_rounding():
    assert spread(np.array([np.nextafter(1, 2)])).mean > 1
    with pytest.raises(ValueError, match="mean"):
        spread(np.array([1.001]))


@pytest.mark.parametrize("field", ["slope", "shift"])
def test_a_calibration_whose_products_are_not_finite_is_refused(field):
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        Calibration(kind="temperature", **{field: 1e308})


def test_weights_whose_products_are_not_finite_are_refused(tmp_path):
    model = MarEcg(tiny().model)
    model.state_dict()["pool.query"][0] = 3e38
    with pytest.raises(CheckpointError, match=rf"pool\.query {IMPOSSIBLE} 3e\+38"):
        model.save_pretrained(tmp_path / "model")


READ = (Answers, Description, Evaluation, PreparationReport, Provenance, Report, Score)
"""What is read from JSON; NaN and infinity are refused in all of it."""
OF_ANY_SIGN = {
    *("Calibration.shift", "Calibration.knots"),
    *("AucDifference.mean", "AucDifference.low", "AucDifference.high"),
    "Description.classes",
}


def _unbounded(schema: Any) -> bool:
    """Whether a number within has no least value."""
    if isinstance(schema, list):
        return any(map(_unbounded, schema))
    if not isinstance(schema, dict):
        return False
    bounded = {"minimum", "exclusiveMinimum", "const", "enum"} & schema.keys()
    return (schema.get("type") in ("number", "integer") and not bounded) or any(
        map(_unbounded, schema.values())
    )


def _fields(model: Any) -> Iterator[str]:
    schema = model.model_json_schema()
    for name, each in {model.__name__: schema, **schema.pop("$defs", {})}.items():
        yield from (f"{name}.{field}" for field, says in each["properties"].items() if _unbounded(says))


@pytest.mark.parametrize("model", READ, ids=lambda model: model.__name__)
def test_every_number_of_a_document_that_is_read_has_its_bounds(model):
    assert model.model_config["allow_inf_nan"] is False
    assert set(_fields(model)) <= OF_ANY_SIGN
