"""A store's copies on this machine: a file system of fsspec, and a tree of its files in `cache()`.

Size and time of change tell whether a copy is still the file.
"""

import hashlib
import json
import logging
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from tempfile import gettempdir
from typing import Any, NamedTuple

from filelock import FileLock

from ecg_ontology import replacing
from marecg.base.errors import OutputError, UsageError
from marecg.storage.places import filesystem

logger = logging.getLogger(__name__)

AT_ONCE = 16
"""Files on their way at a time: a store answers late, and many at once."""
WORTH_TELLING = 64 << 20
"""Bytes whose copying is said beforehand."""
_STATED = ("LastModified", "last_modified", "mtime", "updated", "created")
"""Where the kinds of store say when a file was changed."""
Later = Callable[[str, Collection[str]], bool]
"""Whether a file of a listing is brought only when it is read."""


def cache() -> Path:
    """Where copies are kept: `MARECG_CACHE`, or `marecg` where the user's programs keep such things."""
    own, others = os.environ.get("MARECG_CACHE"), os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(own) if own else Path(others or "~/.cache") / "marecg").expanduser().resolve()
    except RuntimeError:  # a container's user may have neither a home nor a name
        return Path(gettempdir(), f"marecg-{os.getuid()}").resolve()


class Store(NamedTuple):
    """A file system of fsspec, and where its copies are.

    Attributes:
        fs: the file system.
        prefix: what stands before a path in an address.
        home: the folder of its copies.
    """

    fs: Any
    prefix: str
    home: Path

    def local(self, path: str) -> Path:
        """Where the copy of a path is."""
        return self.home / "tree" / path.lstrip("/")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from copying the same: they wait, and then find it."""
        try:
            self.home.mkdir(parents=True, exist_ok=True, mode=0o700)  # what lies here is about patients
            (self.home / "coming").mkdir(exist_ok=True)
            about, said = self.home / "store.json", json.dumps({"prefix": self.prefix})
            if not (about.is_file() and about.read_text(encoding="utf-8") == said):
                with replacing(about) as temporary:  # another process may read it now
                    temporary.write_text(said, encoding="utf-8")
            lock = FileLock(self.home / "lock", mode=0o600)
            lock.acquire()
        except NotImplementedError:  # a file system without locks: what two copy is copied twice, and whole
            lock = None
        except OSError as error:
            remedy = "Set MARECG_CACHE to a folder that is writable"
            raise OutputError(
                f"cannot be written ({error.strerror})", where=self.home, remedy=remedy
            ) from error
        try:
            yield
        finally:
            if lock is not None:
                lock.release()

    def take(self, listed: Mapping[str, Mapping[str, Any]], later: Later) -> None:
        """Copy what is new or has changed; of what is brought later make a link to its address."""
        coming = []
        for path, about in sorted(listed.items()):
            if about["type"] != "file" or path.endswith("/"):
                continue
            if not _is_plain(path):
                logger.warning("%s%r is passed over: no file can be called so here", self.prefix, path)
                continue
            size, when, local = about.get("size"), _changed(about), self.local(path)
            is_later = later(path, listed)
            there = local.stat() if local.is_file() else None
            if there and int(there.st_mtime) == int(when) and size in (None, there.st_size):
                continue
            local.parent.mkdir(parents=True, exist_ok=True)
            if is_later:
                self._link(local, f"{self.prefix}{path}#{size}", when)
            else:
                coming.append((path, when, size or 0))
        if (size := sum(size for _, _, size in coming)) > WORTH_TELLING:
            logger.warning("%s: copying %s files, %.1f GB", self.home, f"{len(coming):,}", size / 1e9)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            try:
                list(pool.map(lambda each: self._copy(*each[:2]), coming))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    @staticmethod
    def _link(local: Path, target: str, when: float) -> None:
        """Nobody takes a link that leads nowhere for a file without content."""
        same = local.is_symlink() and str(local.readlink()) == target
        if same and int(local.lstat().st_mtime) == int(when):
            return
        local.unlink(missing_ok=True)
        local.symlink_to(target)
        os.utime(local, (when, when), follow_symlinks=False)

    def _copy(self, path: str, when: float) -> None:
        temporary = self.home / "coming" / os.urandom(8).hex()
        try:
            self.fs.get_file(path, str(temporary))
            os.utime(temporary, (when, when))
            temporary.replace(self.local(path))
        finally:
            temporary.unlink(missing_ok=True)

    def forget(self, root: str, listed: Collection[str]) -> None:
        """Remove copies of what is no longer there."""
        known = {str(self.local(path)) for path in listed}
        for folder, _, names in os.walk(self.local(root)):
            for name in names:
                if (path := os.path.join(folder, name)) not in known:  # noqa: PTH118 — a million times
                    Path(path).unlink(missing_ok=True)

    def send(self, root: str, last: str) -> None:
        """Send what is not there as it is here, one file after all others."""
        folder = self.local(root)
        self.fs.invalidate_cache()
        there = self.fs.find(root, detail=True)
        files = sorted(path for path in folder.rglob("*") if path.is_file())

        def sent(path: Path) -> bool:
            state, about = path.stat(), there.get(f"{root}/{path.relative_to(folder).as_posix()}", {})
            return about.get("size") == state.st_size and int(_changed(about)) == int(state.st_mtime)

        def send(path: Path) -> None:
            if sent(path):
                return
            name = f"{root}/{path.relative_to(folder).as_posix()}"
            self.fs.put_file(str(path), name)
            self.fs.invalidate_cache()
            when = _changed(self.fs.info(name))
            os.utime(path, (when, when))

        if sent(folder / last):  # what training has added here stays here
            return
        self.fs.makedirs(root, exist_ok=True)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(send, (path for path in files if path != folder / last)))
        send(folder / last)


def store_of(where: str) -> tuple[Store | None, str]:
    """The store of an address, and the path in it; no store where that is a path of this machine."""
    fs, root = filesystem(where)
    if "file" in fs.protocol:
        return None, root
    bare = where.rstrip("/")
    if not bare.endswith(root):
        raise UsageError("isn't an address of one file or folder", where=where, remedy="Name it by its path")
    prefix = bare.removesuffix(root)
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    said = json.dumps([prefix, fs.storage_options, endpoint], default=str)
    protocol = "".join(letter for letter in prefix.partition("://")[0] if letter.isalnum())
    home = cache() / "stores" / f"{protocol}-{hashlib.sha256(said.encode()).hexdigest()[:8]}"
    return Store(fs, prefix + "/" * root.startswith("/"), home), root


def origin_of(path: Path) -> tuple[Store, str] | None:
    """The store that a path of this machine is a copy from, and its path there; None for any other path."""
    stores = cache() / "stores"
    if not path.is_relative_to(stores):
        return None
    key, _, *parts = path.relative_to(stores).parts
    return _opened(stores / key), "/".join(parts)


@lru_cache(maxsize=8)
def _opened(home: Path) -> Store:
    prefix = str(json.loads((home / "store.json").read_text(encoding="utf-8"))["prefix"])
    return Store(filesystem(prefix)[0], prefix, home)


def _is_plain(path: str) -> bool:
    """Whether a path of a store can be one of this machine, and stays below where it belongs."""
    parts = path.lstrip("/").split("/")
    odd = {"", ".", ".."}
    return all(part not in odd and "\0" not in part and len(part.encode()) < 256 for part in parts)


def _changed(about: Mapping[str, Any]) -> float:
    """When a file was changed, in seconds since 1970; 0 where its store does not say."""
    when = next((about[key] for key in _STATED if about.get(key)), 0.0)
    try:
        when = datetime.fromisoformat(when) if isinstance(when, str) else when
        return float(when.timestamp() if isinstance(when, datetime) else when)
    except (ValueError, TypeError):
        return 0.0
