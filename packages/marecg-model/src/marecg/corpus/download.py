"""Download a dataset from its publisher (`marecg data get`). Downloads can be resumed.

A file gets its final name only after its checksum matches the publisher's checksum. The names of unfinished
files end in `.part`.
"""

import hashlib
import json
import lzma
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import quote

import requests
from joblib import Parallel, delayed
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError
from urllib3.util import Retry

from ecg_base import refuse_zip_bomb, replacing
from ecg_records.readers.catalogue import Dataset
from ecg_records.record import inside
from ecg_records.storage.lock import locked
from marecg.base.progress import Progress, shown
from marecg.errors import EcgError, InputError, OutputError

CONNECTIONS = 4
"""Number of simultaneous downloads. With a single connection, PhysioNet's many small files take too long."""
ATTEMPTS = 3
"""Number of attempts for a file before the download fails."""
TIMEOUT = (10, 60)
"""Timeouts in seconds: for opening a connection, and between two pieces of a response."""
PIECE = 1 << 16
"""Number of bytes written at a time. An interrupted download loses at most this many bytes of a file."""
LONGEST_LIST = 512 << 20
"""Maximum bytes of a list of files."""
LONGEST_DATASET = 200.0
"""Assumed size in GB of a dataset whose size is unknown."""
LONGEST_NAME, LONGEST_PATH = 240, 3000
"""Maximum bytes of a file name and of a path.

File systems allow 255 and 4096 bytes, but `.part` and the folder's own path need some of them.
"""
ALGORITHMS = ("md5", "sha1", "sha256", "sha512")


@dataclass(frozen=True, slots=True)
class Remote:
    """File to download: its path below the dataset's folder, its address, and its checksum."""

    path: str
    url: str
    algorithm: str
    digest: str


def get(
    dataset: Dataset,
    out: str | Path,
    *,
    base: str | None = None,
    verify: bool = False,
    progress: Progress = shown,
) -> Path:
    """Download a dataset, or continue an interrupted download.

    Args:
        dataset: Dataset to download.
        out: Parent folder. The dataset's folder in it has the name of the dataset.
        base: Address of a mirror. The publisher's address if None.
        verify: Whether to check the checksums of existing files, and to download wrong files again.
        progress: Function that opens a progress display: `shown` or `silent` of `marecg.base.progress`.

    Returns:
        Folder of the dataset.

    Raises:
        InputError: If the dataset can be downloaded only by hand, the publisher can't be reached or sends an
            unexpected response, a checksum is wrong, or a listed path is outside the folder.
        CorpusError: If another process is downloading the dataset.
        OutputError: If a file can't be written.
    """
    if dataset.host == "hand":
        problem = "can't be downloaded automatically"
        raise InputError(problem, where=dataset.name, remedy=f"Download it by hand from {dataset.home}")
    folder = Path(out) / dataset.name
    with _session() as session:
        listing = {"physionet": _sums, "zenodo": _zenodo}[dataset.host]
        listed, missing = set[str](), list[Remote]()
        for remote in listing(session, base or dataset.files, dataset):
            target = _inside(folder, remote.path)
            listed.add(target.relative_to(folder).as_posix())
            if not target.is_file() or (verify and _digest(target, remote.algorithm) != remote.digest):
                missing.append(remote)
        if not listed:
            raise InputError("lists no files", where=base or dataset.files, remedy=f"See {dataset.home}")
        _refuse_nested(listed, folder)
        done, received = len(listed) - len(missing), 0
        most = (dataset.size or LONGEST_DATASET) * 2e9
        fetching = (delayed(_fetch)(session, remote, folder / remote.path, most) for remote in missing)
        with locked(folder, "fetched"), progress("files") as tell:
            sizes = Parallel(CONNECTIONS, backend="threading", return_as="generator_unordered")(fetching)
            for size in sizes:
                done, received = done + 1, received + size
                tell(done, len(listed), f"{received / 1e6:,.0f} MB")
    for path in sorted(listed):
        if path.endswith(".zip"):
            _unpack(folder / path, folder, listed)
    return folder


_DISTRUST = "Do not trust this copy"


def _session() -> requests.Session:
    session = requests.Session()
    retry = Retry(
        ATTEMPTS - 1,
        backoff_factor=0.3,
        status_forcelist=(429, 500, 502, 503, 504),
        raise_on_status=False,
        respect_retry_after_header=False,  # a server may ask for a day; users can repeat the command
    )
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(pool_maxsize=CONNECTIONS, max_retries=retry))
    session.headers["Accept-Encoding"] = "identity"  # byte ranges must refer to the uncompressed file
    return session


def _sums(session: requests.Session, base: str, dataset: Dataset) -> Iterator[Remote]:
    """Read PhysioNet's list of files, which has a SHA-256 and a path per line."""
    base = base.rstrip("/")
    for line in BytesIO(_content(session, f"{base}/SHA256SUMS.txt")):
        digest, _, path = line.decode(errors="replace").strip().partition(" ")
        path = path.lstrip(" *")
        if path.startswith(dataset.below) and path != "SHA256SUMS.txt":
            yield Remote(path.removeprefix(dataset.below), f"{base}/{quote(path)}", "sha256", digest)


def _zenodo(session: requests.Session, base: str, dataset: Dataset) -> Iterator[Remote]:
    """Read Zenodo's description of a record, which lists files with addresses and checksums."""
    try:
        for file in json.loads(_content(session, base))["files"]:
            algorithm, _, digest = file["checksum"].partition(":")
            path, url = file["key"], file["links"]["self"]
            if algorithm not in ALGORITHMS or not isinstance(path, str) or not isinstance(url, str):
                raise ValueError(f"a file without a usable {algorithm!r} checksum, name or address")
            yield Remote(path, url, algorithm, digest)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"has no valid list of files ({error})", where=base, remedy=f"See {dataset.home}"
        ) from error


def _content(session: requests.Session, url: str) -> bytes:
    """Request an address, and return the content of the response. Raises `InputError` if that fails."""
    try:
        with _answer(session, url) as answer:
            return b"".join(_pieces(answer, LONGEST_LIST))
    except requests.RequestException as error:
        remedy = "Check the network, and try again"
        raise InputError(f"the connection broke ({_first(error)})", where=url, remedy=remedy) from error


def _answer(session: requests.Session, url: str, have: int = 0) -> requests.Response:
    """Request an address, and return the open response, starting after the first `have` bytes.

    Raises `InputError` if the server can't be reached or refuses the request.
    """
    ranged = {"Range": f"bytes={have}-"} if have else {}
    try:
        answer = session.get(url, headers=ranged, stream=True, timeout=TIMEOUT)
    except requests.RequestException as error:
        remedy = "Check the network, and run the same command to continue"
        raise InputError(f"can't be reached ({_first(error)})", where=url, remedy=remedy) from error
    if answer.status_code not in (200, 206, 416):
        problem = f"the server answered {answer.status_code} {answer.reason}"
        raise InputError(problem, where=url, remedy="Run the same command later to continue")
    return answer


def _pieces(answer: requests.Response, most: float) -> Iterator[bytes]:
    """Yield the content of a response in pieces.

    Raises `requests.RequestException` if the connection breaks, and `InputError` if the content is longer
    than `most` bytes.
    """
    received = 0
    try:
        while piece := answer.raw.read1(PIECE):
            received += len(piece)
            if received > most:
                problem = f"must have at most {most / 1e6:,.0f} MB, but the server sends more"
                raise InputError(
                    problem, where=answer.url, remedy="Report this to the publisher, or use a --mirror"
                )
            yield piece
    except HTTPError as error:
        raise requests.ConnectionError(error) from error


def _fetch(session: requests.Session, remote: Remote, target: Path, most: float) -> int:
    """Download a file, or continue a partial download, and return the number of bytes received."""
    part = target.with_name(f"{target.name}.part")
    received = 0
    for _ in range(ATTEMPTS):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            received += _append(session, remote.url, part, most)
            if _digest(part, remote.algorithm) == remote.digest:
                part.replace(target)
                return received
            part.unlink()
        except requests.RequestException:
            continue  # the connection broke; the received part stays
        except OSError as error:
            remedy = "Check the folder's permissions and disk space, and run the same command to continue"
            raise OutputError(f"cannot be written ({error.strerror})", where=target, remedy=remedy) from error
    if part.is_file():
        raise InputError(
            "the connection broke several times",
            where=remote.url,
            remedy="Run the same command later to continue",
        )
    problem = f"its {remote.algorithm} doesn't match the publisher's list"
    raise InputError(problem, where=remote.url, remedy="Try again later, or report this to the publisher")


def _append(session: requests.Session, url: str, part: Path, most: float) -> int:
    have = part.stat().st_size if part.is_file() else 0
    with _answer(session, url, have) as answer:
        if answer.status_code == 416:  # the file is already complete
            return 0
        received = 0
        with part.open("ab" if answer.status_code == 206 else "wb") as file:
            for piece in _pieces(answer, most - have):
                received += file.write(piece)
    return received


def _digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def _inside(folder: Path, path: str) -> Path:
    """Return the local path of a listed file. Raises `InputError` if it is invalid or outside the folder."""
    parts, problem = PurePosixPath(path).parts, ""
    odd = not path.isprintable() or any(len(part.encode()) > LONGEST_NAME for part in parts)
    if odd or len(path.encode()) > LONGEST_PATH:
        problem = "isn't a valid file name"
    elif "\\" in path or ".." in parts or not parts or not inside(folder / path, folder):
        problem = "is outside the folder"
    if problem:
        problem = f"the list of files contains {path[:80]!r}, which {problem}"
        raise InputError(problem, where=folder, remedy=_DISTRUST)
    return folder / path


def _refuse_nested(paths: Iterable[str], where: Path) -> None:
    """Raise `InputError` if a path is both a file and the folder of another file."""
    files = set(paths)
    for path in files:
        while path := path.rpartition("/")[0]:
            if path in files:
                problem = f"has both a file and a folder {path[:80]!r}"
                raise InputError(problem, where=where, remedy=_DISTRUST)


def _unpack(archive: Path, folder: Path, listed: Collection[str]) -> None:
    """Unpack the files of an archive that are missing in the folder.

    Listed files are never unpacked, because they have checksums of their own. Raises `InputError` if the
    archive is damaged, or contains a path outside the folder.
    """
    remedy = "Remove it, and download it again"
    try:
        with zipfile.ZipFile(archive) as content:
            refuse_zip_bomb(content, archive, _DISTRUST)
            members = [member for member in content.infolist() if not member.is_dir()]
            targets = [_inside(folder, member.filename) for member in members]
            _refuse_nested((member.filename for member in members), archive)
            for member, target in zip(members, targets, strict=True):
                if target == archive:
                    raise InputError("contains a file with its own name", where=archive, remedy=_DISTRUST)
                is_complete = target.is_file() and target.stat().st_size == member.file_size
                if not is_complete and target.relative_to(folder).as_posix() not in listed:
                    with replacing(target) as new, content.open(member) as source, new.open("wb") as file:
                        for piece in _unpacked(source, archive, remedy):
                            file.write(piece)
    except EcgError:
        raise
    except (zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError, ValueError) as error:
        raise InputError(f"is damaged ({error})", where=archive, remedy=remedy) from error


def _unpacked(source: IO[bytes], archive: Path, remedy: str) -> Iterator[bytes]:
    """Yield the content of an archive's file in pieces. Raises `InputError` if it is damaged."""
    try:
        yield from iter(partial(source.read, PIECE), b"")
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error, lzma.LZMAError) as error:
        raise InputError(f"is damaged ({error})", where=archive, remedy=remedy) from error


def _first(error: BaseException) -> str:
    """Return the first line of the error that caused a chain of errors."""
    while error.__context__ is not None and error.__context__ is not error:
        error = error.__context__
    return str(error).splitlines()[0][:120] if str(error) else type(error).__name__
