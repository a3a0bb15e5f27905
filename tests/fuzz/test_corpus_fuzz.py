"""The fuzz bench damages every kind of source, and notices a broken promise."""

from types import ModuleType

import numpy as np
import pytest
from tests.fuzz import corpus_fuzz


@pytest.fixture
def fuzz() -> ModuleType:
    return corpus_fuzz


def test_every_kind_of_source_is_good_before_it_is_damaged(fuzz, tmp_path):
    for kind, write in fuzz.KINDS.items():
        folder = tmp_path / kind
        folder.mkdir()
        write(folder)
        assert set(fuzz.prepared(folder)) == {"kept"}, kind


def test_what_is_damaged_is_kept_quarantined_or_refused(fuzz, tmp_path):
    fates = set()
    for kind, write in fuzz.KINDS.items():
        folder = tmp_path / kind
        folder.mkdir()
        write(folder)
        good = {path.name: path.read_bytes() for path in folder.iterdir()}
        for case in range(4):
            fuzz.write(folder, good, np.random.default_rng((7, case)))
            fates.update(fuzz.prepared(folder))
    assert {"kept", "unreadable", "refused as CorpusError"} <= fates


def test_a_record_that_is_lost_ends_the_process(fuzz, tmp_path, monkeypatch):
    fuzz.KINDS["npy"](tmp_path)
    monkeypatch.setattr(fuzz, "find", lambda *_, **__: [])
    monkeypatch.setattr(fuzz, "prepare_block", lambda *_: type("Lost", (), {"rows": [1], "quarantined": []}))
    with pytest.raises(SystemExit, match="lost or doubled"):
        fuzz.prepared(tmp_path)
