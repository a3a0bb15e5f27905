"""The catalogue names what the readers read."""

import pytest

from ecg_base import UsageError
from ecg_records.readers.catalogue import catalogue, dataset
from ecg_records.readers.datasets import cinc2021
from ecg_records.readers.discovery import readers, records_on_disk
from marecg.corpus.statistics import PUBLISHED


def test_every_source_of_a_corpus_belongs_to_a_dataset_that_the_catalogue_knows():
    read = {each.source for each in readers()} | set(cinc2021.COLLECTIONS)
    assert {source for each in catalogue().values() for source in each.sources} == read


def test_the_collections_add_up_to_the_challenge_and_are_where_the_paper_counts_them():
    assert sum(dataset(name).records for name in cinc2021.COLLECTIONS) == dataset("cinc2021").records
    assert {name: dataset(name).records for name in PUBLISHED} == PUBLISHED


def test_every_download_has_an_https_address():
    for each in catalogue().values():
        assert each.files.startswith("https://") == (each.host != "hand")


def test_an_unknown_name_is_answered_with_those_that_are_known():
    with pytest.raises(UsageError, match=r"'mimic'.*mimic-iv-ecg"):
        dataset("mimic")


def test_an_empty_folder_holds_nothing_of_any(tmp_path):
    assert set(records_on_disk(tmp_path).values()) == {0}


@pytest.mark.realdata
def test_real_folders_are_counted(realdata):
    found = records_on_disk(realdata)
    assert (found["cinc2021"], found["ptbxl"], found["ecg-arrhythmia"], found["ptb"]) == (236, 912, 44, 7)
