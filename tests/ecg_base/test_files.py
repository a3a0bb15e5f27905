"""Files appear whole or not at all."""

import errno
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from ecg_base import OutputError, remove_left_over, replacing, write_text


def test_what_is_written_is_on_the_disk_before_it_gets_its_name(tmp_path, monkeypatch):
    """A power cut cannot be made; the order in which the system is asked can be seen."""
    asked: list[str] = []

    def fsync(handle: int) -> None:
        asked.append(Path(f"/proc/self/fd/{handle}").readlink().name)

    rename = Path.replace

    def replace(self: Path, target: Path) -> Path:
        asked.append("rename")
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    with replacing(tmp_path / "a.txt") as temporary:
        temporary.write_text("hello")
    assert asked == [temporary.name, "rename", tmp_path.name]
    asked.clear()
    with replacing(tmp_path / "folder") as temporary:
        temporary.mkdir()
        (temporary / "inner.txt").write_text("hello")
    assert asked == ["inner.txt", temporary.name, "rename", tmp_path.name]


def test_what_is_no_file_is_never_replaced(tmp_path):
    """As root even /dev/null would be."""
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "stdout.csv").symlink_to("/proc/self/fd/1")  # as /dev/stdout is, redirected or not
    for name in ("pipe.csv", "stdout.csv"):
        with pytest.raises(OutputError, match="is a device or a pipe"), replacing(tmp_path / name):
            pytest.fail("nothing is begun")
    assert (tmp_path / "pipe.csv").is_fifo()
    assert (tmp_path / "stdout.csv").is_symlink()


@pytest.mark.parametrize("name", [".", "", "/"])
def test_a_place_without_a_name_is_refused(name):
    with pytest.raises(OutputError, match="must end in a file or folder name"), replacing(name):
        pytest.fail("nothing is begun")


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    with replacing(tmp_path / f"{'a' * 251}.csv") as temporary:
        temporary.write_text("hello")
    assert [len(path.name) for path in tmp_path.iterdir()] == [255]


def test_an_error_names_the_file_that_was_asked_for(tmp_path):
    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OutputError, match=r"out: cannot be written \(No space"):  # noqa: SIM117
        with replacing(tmp_path / "out") as folder, replacing(folder / "inner.json"):
            full()
    with pytest.raises(OutputError, match=r"other\.json: cannot be written"):  # noqa: SIM117
        with replacing(tmp_path / "out"), replacing(tmp_path / "other.json"):
            full()


@pytest.mark.parametrize("stopped", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()])
@pytest.mark.parametrize(("renames", "holds"), [(0, "old"), (1, "old"), (2, "new")])
def test_a_folder_is_the_old_one_or_the_new_wherever_it_stops(tmp_path, monkeypatch, stopped, renames, holds):
    """A signal is heard right after a rename as well as before it."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "old").touch()
    rename, done = Path.replace, []

    def replace(self: Path, target: Path) -> Path:
        if renames:
            done.append(rename(self, target))
        if len(done) == renames:
            monkeypatch.undo()
            raise stopped
        return target

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises((OutputError, KeyboardInterrupt)), replacing(tmp_path / "folder") as temporary:  # noqa: PT012
        temporary.mkdir()
        (temporary / "new").touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["folder", holds]


@pytest.mark.parametrize("renames", [1, 2])
def test_a_folder_whose_writer_was_killed_between_two_renames_is_put_back_by_the_next(tmp_path, renames):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "old").touch()
    writes = (
        "import os, signal, sys; from pathlib import Path; from ecg_base import replacing\n"
        "rename, left = Path.replace, iter(range(int(sys.argv[2])))\n"
        "def replace(self, target):\n"
        "    done = rename(self, target)\n"
        "    next(left)\n"
        "    if not left.__length_hint__(): os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return done\n"
        "Path.replace = replace\n"
        "with replacing(sys.argv[1]) as temporary:\n"
        "    temporary.mkdir(); (temporary / 'new').touch()\n"
    )
    subprocess.run([sys.executable, "-c", writes, str(tmp_path / "folder"), str(renames)], check=False)
    written = "from ecg_base import replacing\nwith replacing('new') as temporary: temporary.touch()"
    subprocess.run([sys.executable, "-c", written], cwd=tmp_path, check=True)
    names = sorted(path.name for path in tmp_path.rglob("*"))
    assert names == ["folder", "new", "old"] if renames == 1 else ["folder", "new", "new"]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_what_is_private_is_so_from_the_first_byte_in_every_file(tmp_path, umask):
    before = os.umask(umask)
    try:
        with replacing(tmp_path / "corpus", private=True) as folder:
            (folder / "shards").mkdir(parents=True)
            (folder / "shards" / "0.npy").write_text("an ECG")
            (folder / "report.json").touch(0o666)
            assert folder.parent.stat().st_mode & 0o777 == 0o700
        write_text(tmp_path / "corpus" / "patients.csv", "Ann", private=True)
        write_text(tmp_path / "card.md", "public")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    allowed = 0o770 & ~umask
    files = dict.fromkeys(("0.npy", "report.json", "patients.csv"), 0o660 & ~umask)
    assert modes == {"corpus": allowed, "shards": allowed, "card.md": 0o666 & ~umask} | files


def test_a_file_or_folder_of_a_group_s_folder_stays_the_group_s(tmp_path):
    tmp_path.chmod(0o2770)
    with replacing(tmp_path / "folder", private=True) as folder:
        folder.mkdir()
        (folder / "file").touch()
    assert (tmp_path / "folder").stat().st_mode & 0o2000
    assert (tmp_path / "folder" / "file").stat().st_gid == tmp_path.stat().st_gid


@pytest.mark.parametrize("signal", ["SIGKILL", "SIGSTOP"])
def test_what_a_killed_process_left_is_removed_by_the_next_and_what_a_living_one_writes_is_not(
    tmp_path, signal
):
    writes = (
        "import os, signal, sys; from ecg_base import replacing\n"
        "with replacing(sys.argv[1]) as temporary:\n"
        "    temporary.mkdir(); (temporary / 'half').touch()\n"
        "    os.kill(os.getpid(), getattr(signal, sys.argv[2]))"
    )
    other = subprocess.Popen([sys.executable, "-c", writes, str(tmp_path / "out"), signal])
    try:
        os.waitpid(other.pid, os.WUNTRACED)
        assert len(list(tmp_path.iterdir())) == 1
        written = "from ecg_base import replacing\nwith replacing('new') as temporary: temporary.touch()"
        subprocess.run([sys.executable, "-c", written], cwd=tmp_path, check=True)
        names = sorted(path.name for path in tmp_path.iterdir())
        assert names[-1] == "new"
        assert len(names) == (1 if signal == "SIGKILL" else 2)
    finally:
        with suppress(ProcessLookupError):
            other.kill()
        other.wait()


def test_what_another_machine_left_goes_only_if_the_caller_is_alone_there(tmp_path):
    left = tmp_path / ".part-0123abcd.unfinished"
    left.mkdir()
    (left / ".lock").write_text("another machine")
    remove_left_over(tmp_path)
    assert left.exists()
    remove_left_over(tmp_path, alone=True)
    assert not left.exists()
