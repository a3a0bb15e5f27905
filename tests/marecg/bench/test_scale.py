"""A start on a simulated corpus, at small numbers."""

from pathlib import Path

import numpy as np
import pytest

from marecg.base.errors import UsageError
from marecg.bench import scale
from marecg.corpus.prepared import Corpus

RECORDS = 5000


def test_a_simulated_corpus_is_a_corpus_and_takes_no_room_for_its_signals(tmp_path: Path) -> None:
    scale.simulate(tmp_path / "corpus", RECORDS)
    corpus = Corpus.open(tmp_path / "corpus")
    assert len(corpus) == RECORDS
    assert len(set(corpus.ids)) == RECORDS
    np.testing.assert_array_equal(corpus.y, corpus.ontology().leaf_multi_hot(_codes(corpus)))
    np.testing.assert_array_equal(corpus.primary, corpus.ontology().primary(corpus.y))
    assert all((np.diff(peaks) > 100).all() and peaks[-1] < 4700 for peaks in corpus.rpeaks)
    assert not corpus.signals([0, RECORDS - 1]).any()
    written = sum(path.stat().st_blocks * 512 for path in (tmp_path / "corpus").rglob("*.*"))
    assert written < RECORDS * 1000
    (tmp_path / "corpus" / "thesis.tex").touch()
    with pytest.raises(UsageError, match="holds thesis"):
        scale.simulate(tmp_path / "corpus", RECORDS)


def _codes(corpus: Corpus) -> list[list[str]]:
    from marecg.corpus import index

    codes: list[list[str]] = index.read(corpus.folder / "index.parquet", ["codes"])["codes"].to_pylist()
    return codes


def test_a_start_tells_each_stage_and_the_next_one_reads_no_beats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scale, "stages", scale._stages)  # here, not in a process of its own
    found = scale.scale(tmp_path / "corpus", RECORDS)
    assert found["records"] == RECORDS
    assert list(found["next start"]) == list(found["first start"])
    assert found["first start"]["first batch"]["seconds"] >= 0
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "corpus" / "supervision").iterdir()}
    assert len(kept) == 2
    assert scale.scale(tmp_path / "corpus", 7)["records"] == RECORDS
    assert kept == {
        path.name: path.stat().st_mtime_ns for path in (tmp_path / "corpus" / "supervision").iterdir()
    }
