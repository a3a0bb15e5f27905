"""The whole path, at the smallest size at which every part of it runs."""

import pytest

from marecg.report.demo import demo


@pytest.mark.slow
def test_the_demo_leaves_a_probe_a_page_and_its_pictures(tmp_path):
    done = demo(tmp_path / "demo", records=160, steps=2)
    assert {"encoder", "random encoder", "hand-crafted"} <= {cell.method for cell in done.probe.cells}
    page = done.page.read_text()
    assert "http://" not in page
    assert "https://" not in page
    for name in ("record-1-ecg.svg", "neighbours-01.svg", "map.svg", "training-01.svg"):
        assert (done.run / "pictures" / name).is_file()
    assert "<h3>corpus, protocol strict</h3>" in page
