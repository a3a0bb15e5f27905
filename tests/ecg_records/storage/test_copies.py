"""Copies of a store: made again when their file changed, by one process at a time, within the cache."""

import logging
import threading
from datetime import UTC, datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler

import fsspec
import pytest
from filelock import FileLock
from fsspec.implementations.memory import MemoryFile

from ecg_records.storage.copies import ensure_local


def test_a_file_that_changed_and_kept_its_size_is_copied_again(memory):
    store, root = fsspec.url_to_fs(f"{memory}/a.csv")
    for text, when in ((b"old", 1_000_000_000), (b"new", 1_000_000_001)):
        store.pipe_file(root, text)
        store.store[root].created = datetime.fromtimestamp(when, UTC)
        assert ensure_local(f"{memory}/a.csv").read_bytes() == text


def test_one_process_copies_and_another_waits(memory):
    store, root = fsspec.url_to_fs(f"{memory}/a.csv")
    store.pipe_file(root, b"1")
    copy = ensure_local(f"{memory}/a.csv")
    store.pipe_file(root, b"22")
    home = next(folder for folder in copy.parents if (folder / ".copied.json").is_file())
    other = threading.Thread(target=ensure_local, args=(f"{memory}/a.csv",))
    with FileLock(home / ".lock"):
        other.start()
        other.join(0.3)
        assert copy.read_bytes() == b"1"
    other.join()
    assert copy.read_bytes() == b"22"


def test_a_name_that_leads_out_of_the_cache_is_passed_over(memory, tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    store, root = fsspec.url_to_fs(f"{memory}/a")
    for name in ("../../../../evil.csv", "good.csv", 255 * "x", 128 * "é"):  # é: two bytes
        store.store[f"{root}/{name}"] = MemoryFile(store, f"{root}/{name}", b"1")
    copy = ensure_local(f"{memory}/a")
    assert sorted(path.name for path in copy.iterdir()) == ["good.csv", 255 * "x"]
    assert not list(tmp_path.rglob("evil*"))
    assert caplog.text.count("is skipped") == 2


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


class Unlisted(Quiet):
    def list_directory(self, path: object) -> None:
        self.send_error(404)


@pytest.mark.parametrize("server", [Quiet, Unlisted])
def test_a_web_server_gives_a_file_though_it_lists_no_folders(memory, tmp_path, serve, server):
    pytest.importorskip("aiohttp")
    (tmp_path / "a.csv").write_text("1")
    address = serve(partial(server, directory=tmp_path))
    assert ensure_local(f"{address}/a.csv").read_text() == "1"
