"""Downloads against a server on this machine: resumed, verified, and never outside the folder."""

import hashlib
import json
import time
import zipfile
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from pathlib import Path

import pytest

from marecg.errors import InputError, OutputError
from marecg.read import download
from marecg.read.download import get
from marecg.read.published import Dataset, dataset

FILES = {f"training/georgia/g1/E{n:05d}.{end}": bytes([n]) * 3000 for n in range(4) for end in ("hea", "mat")}
GEORGIA = dataset("georgia")


class Publisher:
    """Files by path, what was asked of them, and how the server misbehaves."""

    def __init__(self) -> None:
        self.files = dict(FILES)
        self.asked: list[tuple[str, str | None]] = []
        self.breaks: dict[str, list[int]] = {}
        self.ranges = True
        self.trickles = 0.0
        self.retry_after = ""
        self.status = 200
        self.publish()

    def publish(self, **extra: str) -> None:
        """Write the list of checksums as things are now; `extra` adds paths with a checksum."""
        self.files.pop("SHA256SUMS.txt", None)
        lines = [f"{hashlib.sha256(content).hexdigest()} {path}" for path, content in self.files.items()]
        lines += [f"{digest} {path}" for path, digest in extra.items()]
        self.files["SHA256SUMS.txt"] = "\n".join(["0 LICENSE.txt", *lines, ""]).encode()

    def fetched(self) -> list[str]:
        return sorted(path for path, _ in self.asked if path != "SHA256SUMS.txt")


class Handler(BaseHTTPRequestHandler):
    """Serves the publisher's files, or as much as it lets through."""

    publisher: Publisher

    def do_GET(self) -> None:
        path, ranged = self.path.removeprefix("/1.0/"), self.headers["Range"]
        self.publisher.asked.append((path, ranged))
        content = self.publisher.files.get(path)
        if self.publisher.status != 200 or content is None:
            self.send_response(404 if content is None else self.publisher.status)
            if self.publisher.retry_after:
                self.send_header("Retry-After", self.publisher.retry_after)
            self.end_headers()
            return
        first = int(ranged.removeprefix("bytes=").rstrip("-")) if ranged and self.publisher.ranges else 0
        if first >= len(content) > 0:
            self.send_error(416)
            return
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(content) - first))
        self.end_headers()
        if self.publisher.trickles:
            for byte in content[first:]:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(self.publisher.trickles)
            return
        breaks = self.publisher.breaks.get(path)
        self.wfile.write(content[first : breaks.pop(0) if breaks else None])

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@pytest.fixture
def publisher() -> Publisher:
    return Publisher()


@pytest.fixture
def base(publisher: Publisher, serve: Callable[..., str]) -> str:
    return f"{serve(type('Bound', (Handler,), {'publisher': publisher}))}/1.0/"


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "PIECE", 500)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


EXPECTED = {path.removeprefix("training/georgia/"): content for path, content in FILES.items()}


def test_a_dataset_is_fetched_into_a_folder_of_its_name(
    tmp_path: Path, base: str, publisher: Publisher
) -> None:
    publisher.files["training/ptb/g1/S0001.hea"] = b"another collection"
    publisher.publish()
    seen: list[tuple[int, int, int]] = []
    folder = get(GEORGIA, tmp_path, base=base, watch=lambda *counts: seen.append(counts))
    assert folder == tmp_path / "georgia"
    assert content(folder) == EXPECTED
    assert [(found, done) for found, done, _ in seen] == [(8, done) for done in range(1, 9)]
    assert seen[-1][2] == 8 * 3000


def test_complete_files_are_not_fetched_again(tmp_path: Path, base: str, publisher: Publisher) -> None:
    folder = get(GEORGIA, tmp_path, base=base)
    (folder / "g1" / "E00001.hea").unlink()
    publisher.asked.clear()
    get(GEORGIA, tmp_path, base=base)
    assert publisher.fetched() == ["training/georgia/g1/E00001.hea"]
    assert content(folder) == EXPECTED


@pytest.mark.parametrize("ranges", [True, False])
def test_a_file_that_broke_off_goes_on_where_it_was(
    tmp_path: Path, base: str, publisher: Publisher, ranges: bool
) -> None:
    broken = "training/georgia/g1/E00002.mat"
    publisher.ranges = ranges
    publisher.breaks = {broken: [1000, 2000]}
    assert content(get(GEORGIA, tmp_path, base=base)) == EXPECTED
    asked = [ranged for path, ranged in publisher.asked if path == broken]
    assert asked == [None, "bytes=1000-", "bytes=2000-"]


def test_an_interrupted_download_is_resumed_by_the_same_call(
    tmp_path: Path, base: str, publisher: Publisher
) -> None:
    broken = "training/georgia/g1/E00002.mat"
    publisher.breaks = {broken: [1000, 1000, 1000]}
    with pytest.raises(InputError, match=r"E00002\.mat: broke off again and again"):
        get(GEORGIA, tmp_path, base=base)
    assert (tmp_path / "georgia" / "g1" / "E00002.mat.part").stat().st_size == 1000
    publisher.breaks, publisher.asked = {}, []
    assert content(get(GEORGIA, tmp_path, base=base)) == EXPECTED
    assert (broken, "bytes=1000-") in publisher.asked


def test_a_partial_file_that_is_complete_but_not_yet_named_is_only_named(
    tmp_path: Path, base: str, publisher: Publisher
) -> None:
    folder = get(GEORGIA, tmp_path, base=base)
    (folder / "g1" / "E00001.hea").rename(folder / "g1" / "E00001.hea.part")
    assert content(get(GEORGIA, tmp_path, base=base)) == EXPECTED


def test_a_partial_file_of_something_else_is_fetched_anew(tmp_path: Path, base: str) -> None:
    part = tmp_path / "georgia" / "g1" / "E00003.mat.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"something else")
    assert content(get(GEORGIA, tmp_path, base=base)) == EXPECTED


def test_a_file_with_another_checksum_is_refused(tmp_path: Path, base: str, publisher: Publisher) -> None:
    publisher.files["training/georgia/g1/E00003.hea"] = b"corrupted on the way"
    with pytest.raises(InputError, match=r"E00003\.hea: has another sha256 than its publisher states"):
        get(GEORGIA, tmp_path, base=base)
    assert not (tmp_path / "georgia" / "g1" / "E00003.hea").exists()
    assert not (tmp_path / "georgia" / "g1" / "E00003.hea.part").exists()


def test_on_request_what_is_there_is_verified_and_mended(tmp_path: Path, base: str) -> None:
    folder = get(GEORGIA, tmp_path, base=base)
    (folder / "g1" / "E00000.mat").write_bytes(b"damaged later")
    get(GEORGIA, tmp_path, base=base)
    assert content(folder) != EXPECTED
    get(GEORGIA, tmp_path, base=base, verify=True)
    assert content(folder) == EXPECTED


@pytest.mark.parametrize(
    "path",
    ["training/georgia/../../../escape", "training/georgia//etc/hostname", "training/georgia/a\\..\\b"],
)
def test_a_list_that_leads_out_of_the_folder_is_refused_before_anything_is_fetched(
    tmp_path: Path, base: str, publisher: Publisher, path: str
) -> None:
    publisher.publish(**{path: "0" * 64})
    with pytest.raises(InputError, match="lies outside the folder"):
        get(GEORGIA, tmp_path / "out", base=base)
    assert not publisher.fetched()
    assert not (tmp_path / "out").exists()


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path, base: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out" / "georgia").mkdir(parents=True)
    (tmp_path / "out" / "georgia" / "g1").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="lies outside the folder"):
        get(GEORGIA, tmp_path / "out", base=base)
    assert not content(tmp_path / "elsewhere")


def test_without_a_network_the_error_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"can't be reached .*Check the network"):
        get(GEORGIA, tmp_path, base="http://127.0.0.1:9/1.0/")


@pytest.mark.parametrize("status", [403, 503])
def test_a_server_that_refuses_is_one_clear_error(
    tmp_path: Path, base: str, publisher: Publisher, status: int
) -> None:
    publisher.status = status
    with pytest.raises(InputError, match=rf"SHA256SUMS\.txt: (answers {status}|can't be reached)"):
        get(GEORGIA, tmp_path, base=base)


def test_a_list_without_the_dataset_is_one_clear_error(
    tmp_path: Path, base: str, publisher: Publisher
) -> None:
    publisher.files = {"SHA256SUMS.txt": b"<html>Please log in</html>\n"}
    with pytest.raises(InputError, match="lists no files"):
        get(GEORGIA, tmp_path, base=base)


def test_a_folder_that_can_t_be_written_is_one_clear_error(tmp_path: Path, base: str) -> None:
    (tmp_path / "georgia").write_text("a file")
    with pytest.raises(OutputError, match="cannot be written"):
        get(GEORGIA, tmp_path, base=base)


def test_what_no_program_may_fetch_is_said_with_its_address() -> None:
    with pytest.raises(InputError, match=r"by hand from http://2018\.icbeb\.org"):
        get(dataset("cpsc2018"), "nowhere")


@pytest.fixture
def zenodo(publisher: Publisher, base: str) -> Callable[..., Dataset]:
    """Let the publisher describe a record of an archive and a table, as Zenodo does."""

    def describe(*members: str) -> Dataset:
        archive = BytesIO()
        with zipfile.ZipFile(archive, "w") as file:
            for member in members:
                file.writestr(member, b"tracings")
        publisher.files |= {"exams.csv": b"exam_id,trace_file\n", "part0.zip": archive.getvalue()}
        described = [
            {
                "key": name,
                "checksum": f"md5:{hashlib.md5(publisher.files[name], usedforsecurity=False).hexdigest()}",
                "links": {"self": f"{base}{name}"},
            }
            for name in ("exams.csv", "part0.zip")
        ]
        publisher.files["record"] = json.dumps({"files": described}).encode()
        return dataset("code-15")

    return describe


def test_an_archive_of_zenodo_is_verified_and_unpacked(
    tmp_path: Path, base: str, zenodo: Callable[..., Dataset]
) -> None:
    folder = get(zenodo("exams_part0.hdf5"), tmp_path, base=f"{base}record")
    assert sorted(content(folder)) == ["exams.csv", "exams_part0.hdf5", "part0.zip"]
    assert (folder / "exams_part0.hdf5").read_bytes() == b"tracings"


def test_an_archive_that_leads_out_of_the_folder_is_refused(
    tmp_path: Path, base: str, zenodo: Callable[..., Dataset]
) -> None:
    with pytest.raises(InputError, match="lies outside the folder"):
        get(zenodo("../escape.hdf5"), tmp_path / "out", base=f"{base}record")
    assert not list(tmp_path.glob("**/escape*"))


@pytest.mark.parametrize(
    "text", [b"", b"{}", b'{"files": [{"key": "a"}]}', b'{"files": [{"key": "a", "checksum": "x:1"}]}']
)
def test_a_record_that_describes_no_files_is_one_clear_error(
    tmp_path: Path, base: str, publisher: Publisher, text: bytes
) -> None:
    publisher.files["record"] = text
    with pytest.raises(InputError, match="describes no files"):
        get(dataset("code-15"), tmp_path, base=f"{base}record")


def test_a_server_that_says_come_back_tomorrow_is_not_waited_for(
    tmp_path: Path, base: str, publisher: Publisher
) -> None:
    publisher.status, publisher.retry_after = 503, "100000"
    began = time.monotonic()
    with pytest.raises(InputError, match="503"):
        get(GEORGIA, tmp_path, base=base)
    assert time.monotonic() - began < 20


def test_a_server_that_hardly_sends_is_given_up(
    tmp_path: Path, base: str, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "PATIENCE", 0.2)
    monkeypatch.setattr(download, "SLOWEST", 1_000_000)
    publisher.trickles = 0.01
    with pytest.raises(InputError, match=r"only .* bytes come per second"):
        get(GEORGIA, tmp_path, base=base)


def test_a_list_without_end_is_given_up(tmp_path: Path, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "LONGEST_LIST", 100)
    with pytest.raises(InputError, match="sends more than"):
        get(GEORGIA, tmp_path, base=base)


def test_a_file_longer_than_its_dataset_is_given_up(tmp_path: Path, base: str) -> None:
    with pytest.raises(InputError, match="sends more than"):
        get(GEORGIA.model_copy(update={"size": 1e-6}), tmp_path, base=base)


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "y" * 250, "d/" * 1700 + "e", "\x1b[31mred"])
def test_a_name_that_no_file_can_have_is_one_clear_error(
    tmp_path: Path, base: str, publisher: Publisher, name: str
) -> None:
    publisher.publish(**{f"training/georgia/{name}": "0" * 64})
    with pytest.raises(InputError, match="which no file can be called"):
        get(GEORGIA, tmp_path, base=base)


@pytest.mark.parametrize(
    "described",
    [
        {"files": [{"key": "a", "links": {"self": "x"}, "checksum": 5}]},
        {"files": [{"key": "a", "links": {"self": "x"}, "checksum": "shake_128:00"}]},
        {"files": [{"key": 7, "links": {"self": "x"}, "checksum": "md5:00"}]},
        {"files": [{"key": "a", "links": {"self": 7}, "checksum": "md5:00"}]},
        {"files": {"a": 1}},
        [],
    ],
)
def test_a_description_that_makes_no_sense_is_one_clear_error(
    tmp_path: Path, base: str, publisher: Publisher, described: object
) -> None:
    publisher.files["record"] = json.dumps(described).encode()
    with pytest.raises(InputError, match="describes no files"):
        get(dataset("code-15"), tmp_path, base=f"{base}record")


def test_a_description_nested_beyond_reason_is_one_clear_error(
    tmp_path: Path, base: str, publisher: Publisher
) -> None:
    publisher.files["record"] = b'{"files":' + b"[" * 100_000
    with pytest.raises(InputError, match="describes no files"):
        get(dataset("code-15"), tmp_path, base=f"{base}record")


def zipped(name: str = "a.txt") -> bytes:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, bytes(range(256)) * 40)
    return packed.getvalue()


def encrypted() -> bytes:
    """The flag of encryption, in the file's header and in the directory."""
    content = bytearray(zipped())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


@pytest.mark.parametrize(
    ("archive", "problem"),
    [
        (encrypted(), "encrypted"),
        (zipped()[:45] + b"\xff\xff\xff" + zipped()[48:], "damaged"),
        (zipped("archive.zip"), "its own name"),
    ],
)
def test_an_archive_that_can_not_be_unpacked_is_one_clear_error(
    tmp_path: Path, base: str, publisher: Publisher, archive: bytes, problem: str
) -> None:
    publisher.files["archive.zip"] = archive
    digest = hashlib.md5(archive, usedforsecurity=False).hexdigest()
    file = {"key": "archive.zip", "links": {"self": f"{base}archive.zip"}, "checksum": f"md5:{digest}"}
    publisher.files["record"] = json.dumps({"files": [file]}).encode()
    with pytest.raises(InputError, match=problem):
        get(dataset("code-15"), tmp_path, base=f"{base}record")
    assert (tmp_path / "code-15" / "archive.zip").read_bytes() == archive
