"""Downloads against a server on this machine: whole, resumed, verified, and never outside the folder."""

import pytest
from tests.marecg.corpus.publishing import EXPECTED, GEORGIA, content
from tests.marecg.told import Told

from ecg_records.storage.lock import locked
from marecg.corpus.download import get
from marecg.errors import CorpusError, InputError, OutputError


def test_a_dataset_is_fetched_into_a_folder_of_its_name(tmp_path, base, publisher):
    publisher.files["training/ptb/g1/S0001.hea"] = b"another collection"
    publisher.publish()
    progress = Told()
    folder = get(GEORGIA, tmp_path, base=base, progress=progress)
    assert folder == tmp_path / "georgia"
    assert content(folder) == EXPECTED
    assert progress.counts == [(done, 8) for done in range(1, 9)]


def test_complete_files_are_not_fetched_again(tmp_path, base, publisher):
    folder = get(GEORGIA, tmp_path, base=base)
    (folder / "g1" / "E00001.hea").unlink()
    publisher.asked.clear()
    get(GEORGIA, tmp_path, base=base)
    assert publisher.fetched() == ["training/georgia/g1/E00001.hea"]
    assert content(folder) == EXPECTED


@pytest.mark.parametrize("ranges", [True, False])
def test_a_file_that_broke_off_goes_on_where_it_was(tmp_path, base, publisher, ranges):
    broken = "training/georgia/g1/E00002.mat"
    publisher.ranges = ranges
    publisher.breaks = {broken: [1000, 2000]}
    assert content(get(GEORGIA, tmp_path, base=base)) == EXPECTED
    asked = [ranged for path, ranged in publisher.asked if path == broken]
    assert asked == [None, "bytes=1000-", "bytes=2000-"]


def test_an_interrupted_download_is_resumed_by_the_same_call(tmp_path, base, publisher):
    broken = "training/georgia/g1/E00002.mat"
    publisher.breaks = {broken: [1000, 1000, 1000]}
    with pytest.raises(InputError, match=r"E00002\.mat: the connection broke several times"):
        get(GEORGIA, tmp_path, base=base)
    assert (tmp_path / "georgia" / "g1" / "E00002.mat.part").stat().st_size == 1000
    publisher.breaks, publisher.asked = {}, []
    assert content(get(GEORGIA, tmp_path, base=base)) == EXPECTED
    assert (broken, "bytes=1000-") in publisher.asked


@pytest.mark.parametrize("part", [EXPECTED["g1/E00003.mat"], b"something else"])
def test_a_part_is_renamed_where_it_is_whole_and_fetched_anew_where_it_is_another(tmp_path, base, part):
    file = tmp_path / "georgia" / "g1" / "E00003.mat.part"
    file.parent.mkdir(parents=True)
    file.write_bytes(part)
    assert content(get(GEORGIA, tmp_path, base=base)) == EXPECTED


def test_a_file_with_another_checksum_is_refused(tmp_path, base, publisher):
    publisher.files["training/georgia/g1/E00003.hea"] = b"corrupted on the way"
    with pytest.raises(InputError, match=r"E00003\.hea: its sha256 doesn't match the publisher's list"):
        get(GEORGIA, tmp_path, base=base)
    assert not list((tmp_path / "georgia" / "g1").glob("E00003.hea*"))


def test_on_request_what_is_there_is_verified_and_mended(tmp_path, base):
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
def test_a_list_that_leads_out_of_the_folder_is_refused_before_any_fetch(tmp_path, base, publisher, path):
    publisher.publish(**{path: "0" * 64})
    with pytest.raises(InputError, match="is outside the folder"):
        get(GEORGIA, tmp_path / "out", base=base)
    assert not publisher.fetched()
    assert not (tmp_path / "out").exists()


def test_a_link_out_of_the_folder_is_not_followed(tmp_path, base):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out" / "georgia").mkdir(parents=True)
    (tmp_path / "out" / "georgia" / "g1").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is outside the folder"):
        get(GEORGIA, tmp_path / "out", base=base)
    assert not content(tmp_path / "elsewhere")


def test_a_folder_that_can_t_be_written_is_one_clear_error(tmp_path, base):
    (tmp_path / "georgia").write_text("a file")
    with pytest.raises(OutputError, match="cannot be written"):
        get(GEORGIA, tmp_path, base=base)


def test_a_second_process_is_told_who_fetches(tmp_path, base, publisher):
    busy = pytest.raises(CorpusError, match="is being fetched by another")
    with locked(tmp_path / "georgia", "fetched"), busy:
        get(GEORGIA, tmp_path, base=base)
    assert not publisher.fetched()
    assert len(list(get(GEORGIA, tmp_path, base=base).rglob("*.hea"))) == 4
