"""An archive that Zenodo describes is verified and unpacked, and one that makes no sense is refused."""

import hashlib
import json
import zipfile
from io import BytesIO

import pytest
from tests.marecg.corpus.publishing import content

from ecg_records.readers.catalogue import dataset
from marecg.corpus.download import get
from marecg.errors import InputError


@pytest.fixture
def describe(publisher, base):
    """Let the publisher offer files as a record of Zenodo, and return the data set that is one."""

    def describe(**contents: bytes):
        publisher.files |= contents
        md5 = {name: hashlib.md5(content, usedforsecurity=False) for name, content in contents.items()}
        described = [
            {"key": name, "checksum": f"md5:{each.hexdigest()}", "links": {"self": f"{base}{name}"}}
            for name, each in md5.items()
        ]
        publisher.files["record"] = json.dumps({"files": described}).encode()
        return dataset("code-15")

    return describe


def zipped(name: str, content: bytes = bytes(range(256)) * 40) -> bytes:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return packed.getvalue()


def test_an_archive_of_zenodo_is_verified_and_unpacked(tmp_path, base, describe):
    offered = {"exams.csv": b"exam_id,trace_file\n", "part0.zip": zipped("exams_part0.hdf5", b"tracings")}
    folder = get(describe(**offered), tmp_path, base=f"{base}record")
    assert sorted(content(folder)) == ["exams.csv", "exams_part0.hdf5", "part0.zip"]
    assert (folder / "exams_part0.hdf5").read_bytes() == b"tracings"


def test_an_archive_that_leads_out_of_the_folder_is_refused(tmp_path, base, describe):
    offered = describe(**{"part0.zip": zipped("../escape.hdf5")})
    with pytest.raises(InputError, match="is outside the folder"):
        get(offered, tmp_path / "out", base=f"{base}record")
    assert not list(tmp_path.glob("**/escape*"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"files": {"a": 1}}',
        '{"files": [{"key": "a"}]}',
        '{"files": [{"key": "a", "checksum": "x:1"}]}',
        '{"files": [{"key": "a", "links": {"self": "x"}, "checksum": 5}]}',
        '{"files": [{"key": "a", "links": {"self": "x"}, "checksum": "shake_128:00"}]}',
        '{"files": [{"key": 7, "links": {"self": "x"}, "checksum": "md5:00"}]}',
        '{"files": [{"key": "a", "links": {"self": 7}, "checksum": "md5:00"}]}',
        pytest.param('{"files":' + "[" * 100_000, id="nested beyond reason"),
    ],
)
def test_a_record_that_describes_no_files_is_one_clear_error(tmp_path, base, publisher, text):
    publisher.files["record"] = text.encode()
    with pytest.raises(InputError, match="has no valid list of files"):
        get(dataset("code-15"), tmp_path, base=f"{base}record")


def encrypted() -> bytes:
    """The flag of encryption, in the file's header and in the directory."""
    content = bytearray(zipped("a.txt"))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


@pytest.mark.parametrize(
    ("archive", "problem"),
    [
        (encrypted(), "encrypted"),
        (zipped("a.txt")[:45] + b"\xff\xff\xff" + zipped("a.txt")[48:], "damaged"),
        (zipped("archive.zip"), "its own name"),
    ],
)
def test_an_archive_that_can_not_be_unpacked_is_one_clear_error(tmp_path, base, describe, archive, problem):
    offered = describe(**{"archive.zip": archive})
    with pytest.raises(InputError, match=problem):
        get(offered, tmp_path, base=f"{base}record")
    assert (tmp_path / "code-15" / "archive.zip").read_bytes() == archive


def archive_of(method: int = zipfile.ZIP_DEFLATED, **members: bytes) -> bytes:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def test_an_archive_that_unpacks_to_far_more_than_its_size_is_refused_before_it_is_unpacked(
    tmp_path, base, describe
):
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(2):
            with archive.open(f"{number}.hdf5", "w") as member:
                for _ in range(150):
                    member.write(bytes(1 << 20))
    offered = describe(**{"a.zip": packed.getvalue()})
    with pytest.raises(InputError, match=r"a\.zip: must unpack to at most 256 MB, got 300 MB from .* bytes"):
        get(offered, tmp_path, base=f"{base}record")
    assert not list((tmp_path / "code-15").glob("*.hdf5"))


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_with_damaged_content_is_damaged_whatever_packed_it(tmp_path, base, describe, method):
    archive = bytearray(archive_of(method, **{"a.csv": bytes(range(256)) * 40}))
    archive[45:60] = b"\xff" * 15
    offered = describe(**{"a.zip": bytes(archive)})
    with pytest.raises(InputError, match=r"a\.zip: is damaged"):
        get(offered, tmp_path, base=f"{base}record")


def test_a_member_of_an_archive_replaces_no_verified_file(tmp_path, base, describe):
    offered = {"exams.csv": b"right", "part0.zip": archive_of(**{"exams.csv": b"something else"})}
    folder = get(describe(**offered), tmp_path, base=f"{base}record")
    assert (folder / "exams.csv").read_bytes() == b"right"


@pytest.mark.parametrize("listed", [False, True])
def test_a_file_that_is_also_a_folder_is_named(tmp_path, base, describe, listed):
    contents = {"a": b"1", "a/b": b"2"}
    offered = describe(**(contents if listed else {"part0.zip": archive_of(**contents)}))
    with pytest.raises(InputError, match="has both a file and a folder 'a'"):
        get(offered, tmp_path, base=f"{base}record")
