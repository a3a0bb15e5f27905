"""Pictures of what was quarantined."""

import re

import pytest

from marecg.base.errors import CorpusError, OutputError
from marecg.corpus.prepare import prepare
from marecg.report.records import gallery


def test_every_reason_is_shown_and_a_record_that_can_be_read_has_a_picture(source, tmp_path):
    header = source / "georgia" / "E00004.hea"
    header.write_text(header.read_text().replace("E00004.mat", "<script>"))
    prepare([source], tmp_path / "corpus", jobs=1)
    one, two = tmp_path / "one.html", tmp_path / "two.html"
    assert gallery(tmp_path / "corpus", [source], one) == gallery(tmp_path / "corpus", [source], two) == 1
    page = one.read_text()
    assert page == two.read_text()
    assert re.findall(r"<h2>(.*)</h2>", page) == ["flat-lead: 1", "gain: 1", "no-signal-file: 1"]
    assert "8 records found, 5 kept, 3 quarantined" in page
    assert "records/georgia/E00003.hea" in page
    assert "://" not in page, "no network"
    assert "<script>" not in page, "a message can't smuggle markup in"


def test_a_folder_that_is_no_corpus_and_a_page_that_cannot_be_written_are_refused(source, tmp_path):
    with pytest.raises(CorpusError, match="not a prepared corpus"):
        gallery(tmp_path, [source], tmp_path / "page.html")
    prepare([source], tmp_path / "corpus", jobs=1)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        gallery(tmp_path / "corpus", [source], tmp_path / "file" / "page.html")
