"""A temporary folder of a killed process is removed by the next; one in use is not."""

import os
import signal
import tempfile
from pathlib import Path

import pytest
from tests import forked

from marecg.base.temporary import temporary_folder
from marecg.errors import OutputError


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path):
    def killed():
        with temporary_folder() as folder:
            (Path(folder) / "half").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    assert forked.run(killed) == -signal.SIGKILL
    [left] = tmp_path.iterdir()
    os.utime(left, (0, 0))
    with temporary_folder() as folder:
        assert [str(path) for path in tmp_path.iterdir()] == [folder]
    assert not list(tmp_path.iterdir())


def test_a_folder_in_use_or_new_and_files_of_others_stay(tmp_path):
    (tmp_path / "marecg-notes.txt").touch()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "marecg-link").symlink_to(tmp_path / "elsewhere")
    os.utime(tmp_path / "marecg-notes.txt", (0, 0))
    with temporary_folder() as first:
        os.utime(first, (0, 0))
        with temporary_folder() as second:
            assert Path(first).is_dir()
            assert Path(second).is_dir()
    (tmp_path / "marecg-new").mkdir()
    with temporary_folder():
        assert (tmp_path / "marecg-new").is_dir()
    assert (tmp_path / "marecg-notes.txt").exists()
    assert (tmp_path / "elsewhere").is_dir()


@pytest.mark.parametrize("place", ["/proc/1", "/dev/null"])
def test_a_place_where_none_can_be_made_is_named_with_what_to_do(monkeypatch, place):
    monkeypatch.setattr(tempfile, "tempdir", place)
    with pytest.raises(OutputError, match=rf"\A{place}: cannot be written .*Set TMPDIR"), temporary_folder():
        pass
