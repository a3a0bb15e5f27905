"""An output goes on with what it was planned as: other records, settings or files in it are refused."""

import errno
import fcntl
import json
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from tests.marecg.corpus.prepared_folders import SMALL, digest

from ecg_records.storage.lock import locked
from marecg.corpus.config import CorpusConfig
from marecg.corpus.plan import routing_sha256
from marecg.corpus.prepare import prepare
from marecg.errors import CorpusError


def test_two_runs_on_one_output_refuse_politely(source, tmp_path):
    with locked(tmp_path / "out", "prepared"), pytest.raises(CorpusError, match="another process"):
        prepare([source], tmp_path / "out", jobs=1)
    assert prepare([source], tmp_path / "out", jobs=1).kept == 5


def test_a_file_system_without_locks_is_said_and_used(source, tmp_path, monkeypatch, caplog):
    """Lustre is often mounted so."""
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=OSError(errno.ENOSYS, "Function not implemented")))
    assert prepare([source], tmp_path / "corpus", SMALL, jobs=1).kept == 5
    assert "can't be locked (Function not implemented)" in caplog.text


def test_an_output_of_other_records_or_settings_is_refused_and_left_alone(source, tmp_path):
    out = tmp_path / "out"
    prepare([source], out, jobs=1)
    before = digest(out)
    with pytest.raises(CorpusError, match="other sources and records"):
        prepare([source / "ptb"], out, jobs=1)
    with pytest.raises(CorpusError, match="other settings"):
        prepare([source], out, SMALL, jobs=1)
    with pytest.raises(CorpusError, match="other routing profile"):
        prepare([source], out, profile="curated", jobs=1)
    assert digest(out) == before


def test_the_hash_of_the_routing_covers_which_leaves_a_code_has():
    def routing(leaves):
        return SimpleNamespace(codes=("a", "b"), route=lambda code: SimpleNamespace(leaves=leaves))

    assert routing_sha256(routing((5,))) == routing_sha256(routing((5,)))
    assert routing_sha256(routing((5,))) != routing_sha256(routing((6,)))


def test_a_folder_that_holds_something_else_is_refused_and_left_alone(source, tmp_path):
    for name in ("mine/thesis.tex", "yours/building/plan.dwg"):
        path, out = tmp_path / name, tmp_path / name.partition("/")[0]
        path.parent.mkdir(parents=True)
        path.write_text("x")
        with pytest.raises(CorpusError, match=rf"not empty \({path.name}"):
            prepare([source], out, jobs=1)
        assert [each for each in out.rglob("*") if each.is_file()] == [path]


def test_a_corpus_from_before_a_setting_is_one_with_its_default(source, tmp_path):
    prepare([source], tmp_path / "out", jobs=1)
    described = tmp_path / "out" / "corpus.json"
    about = json.loads(described.read_text())
    del about["config"]["rpeaks_lead"]
    described.write_text(json.dumps(about))
    prepare([source], tmp_path / "out", jobs=1)
    with pytest.raises(CorpusError, match="other settings"):
        prepare([source], tmp_path / "out", CorpusConfig(rpeaks_lead="I"), jobs=1)


def test_a_complete_corpus_is_said_to_be_so_and_no_answer_to_corrected_sources(source, tmp_path, caplog):
    prepare([source], tmp_path / "out", jobs=1)
    assert not caplog.text
    prepare([source], tmp_path / "out", jobs=1)
    assert "is already complete" in caplog.text
    header = source / "georgia" / "E00000.hea"
    header.write_text(header.read_text().replace("426783006", "164889003"))
    with pytest.raises(CorpusError, match="already has a corpus with other records"):
        prepare([source], tmp_path / "out", jobs=1)
