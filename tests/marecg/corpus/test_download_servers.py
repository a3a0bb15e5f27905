"""A server that refuses, dawdles, never ends or is not there is one clear error."""

import time

import pytest
from tests.marecg.corpus.publishing import GEORGIA

from ecg_records.readers.catalogue import dataset
from marecg.corpus import download
from marecg.corpus.download import get
from marecg.errors import InputError


def test_without_a_network_the_error_says_so(tmp_path):
    with pytest.raises(InputError, match=r"can't be reached .*Check the network"):
        get(GEORGIA, tmp_path, base="http://127.0.0.1:9/1.0/")


@pytest.mark.parametrize(("status", "retry_after"), [(403, ""), (503, ""), (503, "100000")])
def test_a_server_that_refuses_is_not_waited_for(tmp_path, base, publisher, status, retry_after):
    publisher.status, publisher.retry_after = status, retry_after
    began = time.monotonic()
    with pytest.raises(
        InputError, match=rf"SHA256SUMS\.txt: (the server answered {status}|can't be reached)"
    ):
        get(GEORGIA, tmp_path, base=base)
    assert time.monotonic() - began < 600, "on a busy machine, too"


def test_a_list_without_the_dataset_is_one_clear_error(tmp_path, base, publisher):
    publisher.files = {"SHA256SUMS.txt": b"<html>Please log in</html>\n"}
    with pytest.raises(InputError, match="lists no files"):
        get(GEORGIA, tmp_path, base=base)


def test_what_no_program_may_fetch_is_said_with_its_address():
    with pytest.raises(InputError, match=r"Download it by hand from http://2018\.icbeb\.org"):
        get(dataset("cpsc2018"), "nowhere")


@pytest.mark.parametrize(("longest_list", "gigabytes"), [(100, 1.0), (1 << 20, 1e-6)])
def test_a_list_or_a_file_without_end_is_given_up(tmp_path, base, monkeypatch, longest_list, gigabytes):
    monkeypatch.setattr(download, "LONGEST_LIST", longest_list)
    with pytest.raises(InputError, match=r"must have at most .* MB, but the server sends more"):
        get(GEORGIA.model_copy(update={"size": gigabytes}), tmp_path, base=base)


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "y" * 250, "d/" * 1700 + "e", "\x1b[31mred"])
def test_a_name_that_no_file_can_have_is_one_clear_error(tmp_path, base, publisher, name):
    publisher.publish(**{f"training/georgia/{name}": "0" * 64})
    with pytest.raises(InputError, match="which isn't a valid file name"):
        get(GEORGIA, tmp_path, base=base)
