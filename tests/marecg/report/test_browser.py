"""The page in a real browser: Chromium without a window, if there is one."""

import re
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from ecg_records.readers.datasets import ptbxl
from marecg.report.page import POLICY
from marecg.report.record_page import write_record

Browse = Callable[..., str]


@pytest.fixture(scope="module")
def pdf(browse: Browse, page: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("printed")
    browse(page, f"--print-to-pdf={folder / 'page.pdf'}")
    return (folder / "page.pdf").read_bytes()


@pytest.mark.slow
def test_a_record_takes_three_printed_pages(pdf, page):
    others = page.read_text(encoding="utf-8").count("<section") - 3
    assert len(re.findall(rb"/Type /Page\b", pdf)) <= 3 * 3 + others


@pytest.mark.realdata
@pytest.mark.slow
def test_a_record_with_long_statements_is_printed_on_one_page(browse, run, realdata, tmp_path):
    root = realdata / "ptbxl"
    here = [entry for entry in ptbxl.entries(root) if (root / f"{entry.file}.hea").exists()]
    longest = max(here, key=lambda entry: len(entry.report))
    page = write_record(run, root / f"{longest.file}.hea", tmp_path / "record.html")
    browse(page, f"--print-to-pdf={tmp_path / 'record.pdf'}")
    assert len(re.findall(rb"/Type /Page\b", (tmp_path / "record.pdf").read_bytes())) == 1


@pytest.mark.slow
def test_a_millimetre_of_the_ecg_is_a_millimetre_on_printed_paper(pdf):
    [corners, *_] = re.findall(rb"/MediaBox \[([^]]*)\]", pdf)
    a4_crosswise = [0, 0, 297 / 25.4 * 72, 210 / 25.4 * 72]
    assert [float(value) for value in corners.split()] == pytest.approx(a4_crosswise, rel=1e-3)
    streams = re.findall(rb"FlateDecode[^>]*>>\s*stream\r?\n(.*?)endstream", pdf, re.DOTALL)
    drawn = b"\n".join(zlib.decompress(each) for each in streams if each[:1] == b"x")
    # The sheet is drawn as a rectangle of its size in mm, under a scale to pixels and that of the page.
    [scale, *_] = re.findall(rb"([\d.]+) 0 0 [\d.]+ [\d.]+ [\d.]+ cm\s(?:[^c]*?)0 0 260 135 re", drawn)
    [to_points, *_] = re.findall(rb"^([\d.]+) 0 0 -[\d.]+ 0 [\d.]+ cm", drawn, re.MULTILINE)
    assert float(scale) * float(to_points) == pytest.approx(72 / 25.4, rel=1e-3)


def test_the_page_is_drawn_from_top_to_bottom_of_the_window(browse, page, tmp_path):
    browse(page, f"--screenshot={tmp_path / 'page.png'}", "--window-size=1280,2400")
    seen = imread(tmp_path / "page.png")[..., :3]
    assert seen.shape == (2400, 1280, 3)
    for part in np.split(seen, 4):
        assert part.std(axis=(0, 1)).min() > 0.02, "blank"


@pytest.mark.parametrize("width", [1280, 800])
def test_every_section_arrives_and_none_is_wider_than_the_window(browse, page, tmp_path, width):
    text = page.read_text(encoding="utf-8")
    measure = "document.body.dataset.over = document.documentElement.scrollWidth - innerWidth"
    measured = text.replace(POLICY, "").replace("</body>", f"<script>{measure}</script></body>")
    (tmp_path / "measured.html").write_text(measured, encoding="utf-8")
    dom = browse(tmp_path / "measured.html", "--dump-dom", f"--window-size={width},900")
    assert 'data-over="0"' in dom
    assert dom.count("<section") == text.count("<section") > 5
    assert dom.count("</svg>") == text.count("</svg>")
