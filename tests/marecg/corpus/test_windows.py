"""A long recording is several windows of a corpus, which are one record to whoever judges."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.made_records import make_ecg, make_record

from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.embedding.inputs import Inputs
from marecg.errors import ConfigError
from marecg.evaluate.tasks.corpus import corpus_recordings, split_by_patient
from marecg.evaluate.tasks.label_tables import read_labels
from marecg.recipes.overrides import with_settings

STARTS = {"1": [0.0], "3": [0.0, 10.3, 20.6], "all": [0.0, 9.4, 18.8], "every 15s": [0.0, 15.0]}


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Path:
    """A recording of 30 s and one of 8 s."""
    folder = tmp_path_factory.mktemp("long") / "ward"
    folder.mkdir()
    make_record(folder, "long", make_ecg(30, seed=1))
    make_record(folder, "short", make_ecg(8, seed=2))
    return folder


@pytest.mark.parametrize("windows", STARTS)
def test_windows_keep_their_time_their_patient_and_the_name_of_their_record(sources, tmp_path, windows):
    config = with_settings(CorpusConfig, [f"windows={windows}"])
    report = prepare([sources], tmp_path / "corpus", config, jobs=1)
    rows = pq.read_table(tmp_path / "corpus" / "index.parquet").to_pylist()
    assert report.kept == len(rows) == len(STARTS[windows]) + 1
    assert [row["start"] for row in rows] == [*STARTS[windows], 0]
    assert [row["id"] for row in rows] == ["long"] * len(STARTS[windows]) + ["short"]
    assert len({row["path"] for row in rows}) == len(rows)
    corpus, x_CL = Corpus.open(tmp_path / "corpus"), make_ecg(30, seed=1)
    for number, start in enumerate(STARTS[windows]):
        first = round(start * 500)
        expected_CL = x_CL[:, first : first + corpus.n_valid[number]]
        signal_CL = corpus.signals([number])[0, :, : corpus.n_valid[number]]
        np.testing.assert_allclose(signal_CL, expected_CL, atol=2e-3)


def test_whoever_judges_sees_the_windows_of_a_record_as_one(sources, tmp_path):
    prepare([sources], tmp_path / "corpus", CorpusConfig(windows="all"), jobs=1)
    recordings = corpus_recordings(Corpus.open(tmp_path / "corpus"))
    assert [recordings.read(row).shape[1] for row in (0, 3)] == [14_100, 4000]
    np.testing.assert_allclose(recordings.read(0), make_ecg(30, seed=1)[:, :14_100], atol=2e-3)
    table = tmp_path / "labels.csv"
    table.write_text("id,sick\nlong,1\nshort,0\n")
    task, _ = read_labels(table, tmp_path / "corpus")
    assert task.row_M.tolist() == [0, 3]
    assert len(split_by_patient(recordings)) == 4
    names = [record.name for record in Inputs([tmp_path / "corpus"])]
    assert names == ["ward/long", "ward/long@9.4", "ward/long@18.8", "ward/short"]


@pytest.mark.parametrize("windows", ["0", "-1", "some", "every", "every 5", "every 0s"])
def test_other_words_are_refused(windows):
    with pytest.raises(ConfigError):
        with_settings(CorpusConfig, [f"windows={windows}"])
