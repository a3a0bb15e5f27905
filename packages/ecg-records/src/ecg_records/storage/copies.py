"""Keep local copies of remote files, which fsspec downloads into `cache()` under the same names.

A copy is up to date if neither the remote nor the local file has changed since the transfer. `.copied.json`
stores the state of both files after the transfer: the store's metadata, and the size and modification time of
the local file.

fsspec's `filecache` isn't enough, for four reasons. It renames all files to hashes in a single folder, so
headers don't find their signal files, and subfolders are lost. After an interrupted transfer, the next call
returns the partial file. Other processes aren't locked out. Files that were deleted in the store remain.
"""

import glob
import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any
from urllib.parse import quote, unquote

from ecg_base import InputError, OutputError, UsageError, write_text
from ecg_records.storage.documents import read_json
from ecg_records.storage.lock import locked
from ecg_records.storage.places import Place, filesystem, is_remote, reading, sending

logger = logging.getLogger(__name__)
FILES_AT_A_TIME = 64
"""Number of files to transfer at a time."""
WORTH_LOGGING = 64 << 20
"""Number of bytes above which a transfer is logged before it starts."""
_STATED = ("ETag", "etag", "md5Hash", "LastModified", "last_modified", "mtime", "updated", "created", "size")
"""Metadata by which stores identify a file's content."""
Copied = dict[str, Any]
"""State of transferred files by path below `_Mirror.base`: `_stamp` of the remote file, `_state` of the local
file."""


def cache() -> Path:
    """Return the folder for copies: `ECG_RECORDS_CACHE`, or else `ecg-records` in the user's cache folder."""
    chosen, shared = os.environ.get("ECG_RECORDS_CACHE"), os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(chosen) if chosen else Path(shared or "~/.cache") / "ecg-records").expanduser().resolve()
    except RuntimeError:  # the user of a container may have no home folder
        return Path(gettempdir(), f"ecg-records-{os.getuid()}").resolve()


def ensure_local(where: str | Path) -> Path:
    """Return the local path of a file or folder. A local path is returned unchanged.

    For an address, new or changed files are first copied into the cache.

    Raises:
        UsageError: If fsspec doesn't know the protocol, or a library is missing.
        InputError: If the address doesn't exist, or the transfer fails.
        OutputError: If the cache can't be written.
    """
    if not is_remote(where):
        return Path(where)
    mirror = _Mirror.of(str(where))
    if isinstance(mirror, Path):
        return mirror
    with mirror.locked() as copied, reading(where):
        mirror.take(copied)
    return mirror.copy


def address(path: Path) -> str | None:
    """Return the address that a copy comes from, or None if the path isn't a copy."""
    stores = cache() / "stores"
    if not path.is_relative_to(stores):
        return None
    home, *parts = path.relative_to(stores).parts
    return f"{unquote(home.partition('-')[2])}://{'/'.join(parts)}"


@contextmanager
def upload(where: str, last: str) -> Iterator[Path]:
    """Yield a local folder, and upload its files when the block succeeds.

    After an interruption, the folder still has the files that were written before, so a caller can continue.
    The file `last` marks the upload as complete, so it is uploaded after the other files. If the address
    already has the file `last`, all files of the address are first copied to the folder.

    Raises:
        UsageError: If the address has no file `last`, but has files that aren't in the local folder.
        OutputError: If the address can't be written.
    """
    mirror = _Mirror.of(where)
    if isinstance(mirror, Path):
        yield mirror
        return
    bucket = (mirror.base + mirror.copy.name).partition("/")[0]
    with sending(where):
        if bucket and not mirror.fs.exists(bucket):
            raise FileNotFoundError(f"no bucket {bucket}")
    names = Place(where).names()
    if last in names:
        ensure_local(where)
    elif foreign := [name for name in names if not (mirror.copy / name).exists()]:
        problem = f"is not empty ({', '.join(foreign[:3])}) and has no {last}"
        raise UsageError(problem, where=where, remedy="Choose another address")
    yield mirror.copy
    advice = f". Finished files are in {mirror.copy}, and the same command uploads them"
    with sending(where, advice), mirror.locked() as copied:
        mirror.send(copied, last)


@dataclass(frozen=True)
class _Mirror:
    """Files of an address and their local copies.

    Attributes:
        fs: fsspec file system.
        base: Parent folder of the address, as a path in `fs` with a final slash.
        prefix: The same parent folder as an address.
        home: Local folder that contains the copy and `.copied.json`.
        copy: Path of the local copy, which may not exist yet.
    """

    fs: Any
    base: str
    prefix: str
    home: Path
    copy: Path

    @classmethod
    def of(cls, where: str) -> "_Mirror | Path":
        """Return the mirror for an address. A local path has no mirror and is returned unchanged."""
        fs, root = filesystem(where)
        if "file" in fs.protocol:
            return Path(root)
        where = where.rstrip("/")
        protocol, _, path = where.rpartition("://")
        name = path.rpartition("/")[2]
        if not (root.endswith(name) and _is_plain(path)):
            problem = "must be the address of a single file or folder"
            raise UsageError(problem, where=where, remedy="Give its full path")
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        key = _sha256([where, fs.storage_options, endpoint])
        home = cache() / "stores" / f"{key}-{quote(protocol, safe='')}"
        base, prefix = root.removesuffix(name), where.removesuffix(name)
        return cls(fs, base, prefix, home, home / path.lstrip("/"))

    @contextmanager
    def locked(self) -> Iterator[Copied]:
        """Lock the local folder, so that other processes wait. Yield the content of `.copied.json`."""
        record = self.home / ".copied.json"
        try:
            self.home.mkdir(parents=True, exist_ok=True, mode=0o700)  # the copies contain patient data
        except OSError as error:
            problem = f"cannot be written ({error.strerror})"
            remedy = "Set ECG_RECORDS_CACHE to a writable folder"
            raise OutputError(problem, where=self.home, remedy=remedy) from error
        with locked(self.home):
            try:
                copied: Copied = read_json(record, "")
            except InputError:  # the file is missing or damaged, so everything is copied again
                copied = {}
            before = dict(copied)
            try:
                yield copied
            finally:
                if copied != before:
                    write_text(record, json.dumps(copied))

    def listed(self) -> dict[str, dict[str, Any]]:
        """Return the store's metadata of each file to copy, by path below `base`.

        For a folder, these are all its files. For a file, these are all files with the same stem, because a
        header and its signal file belong together.
        """
        self.fs.invalidate_cache()
        root = self.base + self.copy.name
        listed = self.fs.find(root, detail=True)
        if not listed or root in listed:
            stem = os.path.splitext(root)[0] if listed else root  # noqa: PTH122 — pathlib removes slashes
            listed |= self.fs.glob(f"{glob.escape(stem)}.*", detail=True)
        return {
            path.removeprefix(self.base): entry
            for path, entry in listed.items()
            if entry.get("type", "file") == "file" and not path.endswith("/")
        }

    def take(self, copied: Copied) -> None:
        """Copy new and changed files, and remove local files that the store doesn't have."""
        listed, due = self.listed(), []
        if not listed:
            raise FileNotFoundError("no files")
        for path in copied.keys() - listed.keys():
            self._local(path).unlink(missing_ok=True)
            del copied[path]
        for path, entry in sorted(listed.items()):
            if not _is_plain(path):
                logger.warning(
                    "%s%r is skipped, because it isn't a valid file name on this machine", self.prefix, path
                )
            elif copied.get(path) != [_stamp(entry), _state(self._local(path))]:
                due.append(path)
        if (size := sum(listed[path].get("size") or 0 for path in due)) > WORTH_LOGGING:
            logger.warning("%s: copying %s files, %.1f GB", self.home, f"{len(due):,}", size / 1e9)
        for batch in _batches(due):
            with TemporaryDirectory(dir=self.home) as folder:
                coming = {path: f"{folder}/{number}" for number, path in enumerate(batch)}
                self.fs.get([self.base + path for path in batch], [*coming.values()])
                for path in batch:
                    self._local(path).parent.mkdir(parents=True, exist_ok=True)
                    Path(coming[path]).replace(self._local(path))
                    copied[path] = [_stamp(listed[path]), _state(self._local(path))]

    def send(self, copied: Copied, last: str) -> None:
        """Upload new and changed files, then the file `last`, which marks the upload as complete."""
        last, listed = f"{self.copy.name}/{last}", self.listed()

        def is_sent(path: str) -> bool:
            return path in listed and copied.get(path) == [_stamp(listed[path]), _state(self._local(path))]

        if is_sent(last):  # files that were added later, for example by training, stay local
            return
        files = [
            path.relative_to(self.copy.parent).as_posix() for path in self.copy.rglob("*") if path.is_file()
        ]
        due = sorted(path for path in files if path != last and not is_sent(path))
        self.fs.makedirs(self.base + self.copy.name, exist_ok=True)
        for batch in (*_batches(due), [last]):
            self.fs.put([str(self._local(path)) for path in batch], [self.base + path for path in batch])
            listed = self.listed()
            copied.update({path: [_stamp(listed[path]), _state(self._local(path))] for path in batch})

    def _local(self, path: str) -> Path:
        return self.copy.parent / path


def _batches(paths: list[str]) -> list[list[str]]:
    return [paths[first : first + FILES_AT_A_TIME] for first in range(0, len(paths), FILES_AT_A_TIME)]


def _is_plain(path: str) -> bool:
    """Return whether a path in a store is also a valid local path, without `..`."""
    parts = path.lstrip("/").split("/")
    invalid = {"", ".", ".."}
    return all(part not in invalid and "\0" not in part and len(part.encode()) < 256 for part in parts)


def _stamp(entry: Mapping[str, Any]) -> str:
    """Return a hash of the ETag, modification time and size of a remote file, to detect changes."""
    return _sha256([str(entry.get(name)) for name in _STATED])


def _state(local: Path) -> Any:
    """Return the size and modification time of a local file, or None if it doesn't exist."""
    return [local.stat().st_size, local.stat().st_mtime_ns] if local.is_file() else None


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, default=str).encode()).hexdigest()[:16]
