"""A file that isn't there, or isn't an ECG, is told apart from one that can't be reached."""

import pytest
from tests.made_records import make_record

from ecg_records import read
from ecg_records.errors import CorpusError, RecordError
from ecg_records.readers.inputs import find_inputs


@pytest.mark.parametrize("name", ["E00001.jpg", "E00001.hea", "E00001", "sub/E00001.dcm", "a.xml"])
def test_a_file_that_is_not_there_is_called_missing(tmp_path, name):
    with pytest.raises(CorpusError, match="no such file") as refused:
        read(tmp_path / name)
    assert str(refused.value).startswith(f"{tmp_path / name}: no such file")
    assert "again later" not in str(refused.value)


@pytest.mark.parametrize("name", ["notes.jpg", "labels.pdf", "README", "a.docx"])
def test_a_file_that_is_no_ecg_is_refused_with_the_formats_that_are_read(tmp_path, name):
    (tmp_path / name).write_bytes(b"not an ECG")
    make_record(tmp_path)
    found = find_inputs([tmp_path / name, tmp_path / "A0001.hea"])
    assert len(found) == 2, "the others are read"
    [unusable] = [one for one in found.values() if one.file.name == name]
    with pytest.raises(RecordError, match=r"isn't an ECG in a supported format: WFDB \(\.hea\), DICOM"):
        unusable.read()


def test_a_record_may_be_named_without_its_ending(tmp_path):
    make_record(tmp_path)
    for name in ("A0001", "A0001.hea", "A0001.mat"):
        assert read(tmp_path / name).length == 5000
