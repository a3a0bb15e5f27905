"""The report of a run: valid HTML that needs no network, and says what the run and its probes say."""

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.cli.calls import end, invoke

from ecg_synth import write_corpus
from marecg.corpus.prepare import prepare
from marecg.errors import InputError
from marecg.model.mar_ecg import MarEcg
from marecg.report.demo import demo
from marecg.report.run_page import write_report
from marecg.report.tracing import WIDTH


class Checked(HTMLParser):
    """Holds a page to the rules as it reads it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.headings: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        assert len(values) == len(attrs), f"<{tag}> has an attribute twice"
        assert not {"src", "srcset", "background"} & values.keys(), f"<{tag}> fetches something"
        assert tag not in {"script", "link", "iframe", "object", "embed", "img", "base"}
        assert tag != "svg" or (values["role"] == "img" and values["aria-label"])
        self.targets += [values.get("href", "")] * (tag == "a")
        self.ids += [values.get("id", "")] * (tag == "section")
        self.open += [tag] * (tag not in {"meta", "br"})

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert "svg" in self.open, f"<{tag}/> outside of a picture"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        self.headings += [data] * (self.open[-1:] == ["h2"])


def read(page: Path) -> Checked:
    return Checked(page.read_text(encoding="utf-8"))


def without_curves(run: Path, folder: Path) -> Path:
    """A copy of a run with the first step's losses alone, which no chart shows."""
    shutil.copytree(run, folder, ignore=shutil.ignore_patterns("monitors.csv", "pictures"))
    first = (run / "metrics.csv").read_text().splitlines(keepends=True)[:2]
    (folder / "metrics.csv").write_text("".join(first))
    return folder


@pytest.fixture(scope="module")
def checked(page: Path) -> Checked:
    return read(page)


def test_the_page_is_small_sound_and_fetches_nothing(checked, page):
    assert len(set(checked.ids)) == len(checked.ids) == len(checked.headings)
    assert checked.targets == [f"#{each}" for each in checked.ids]
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"https?:|\burl\((?!#)|@import|=.//", text)
    assert "default-src 'none'" in text
    assert len(text) < 3e6


def test_the_sections_come_in_the_order_in_which_a_reader_asks(checked):
    *first, training, signs, prototypes = [title.partition(":")[0] for title in checked.headings]
    records = ["Record 1", "Record 2", "Record 3"]
    assert first == ["What was trained", *records, "Nearest neighbours", "Probes"]
    assert [training, signs, prototypes] == ["Training", "Signs of collapse", "Prototypes and the graph"]


def test_the_page_says_what_was_trained_on_what_and_what_each_curve_measures(checked, run):
    assert "a run & <more>" in checked.text, "a name can't smuggle markup in"
    assert MarEcg.from_pretrained(run / "model").ontology.sha256 in checked.text
    assert re.search(r"\d+: \d+ from other collections", checked.text)
    assert re.search(r"0:00:\d\d, on 1 × cpu", checked.text)
    assert '"monitor_every": 2' in checked.text
    assert "recon: error of the patches after the context" in checked.text
    assert "jepa: " not in checked.text


def test_a_record_that_was_trained_on_is_named_as_such(checked, run, tmp_path):
    assert checked.text.count("The encoder was trained on this record.") == 3
    write_corpus(tmp_path / "wfdb", 4, 99)
    prepare([tmp_path / "wfdb"], tmp_path / "others", jobs=1)
    without_curves(run, tmp_path / "run")
    assert "was trained on this record" not in write_report(tmp_path / "run", tmp_path / "others").read_text()


def test_every_picture_lies_beside_the_page_as_a_file_of_its_own(page):
    paths = (page.parent / "pictures").glob("*.svg")
    sheets = {path.stem: ElementTree.parse(path).getroot() for path in paths}
    kinds = {"record-1-ecg", "record-1-concepts", "training-01", "prototypes-02"}
    assert kinds <= sheets.keys()
    assert all(sheet.tag.endswith("svg") for sheet in sheets.values())
    assert sheets["record-1-ecg"].attrib["width"] == f"{WIDTH:g}mm"


def test_the_command_writes_the_same_page_and_an_absent_corpus_leaves_the_old_one(page, run, corpus_folder):
    before = page.read_bytes()
    assert invoke("report", run, "--data", corpus_folder)[:2] == (0, f"{run / 'report.html'}\n")
    assert page.read_bytes() == before
    code, error = end("report", run, "--data", run / "nowhere")
    assert code == 3
    assert error.startswith("error: ")
    assert "nowhere" in error
    assert page.read_bytes() == before


@pytest.mark.parametrize("name", ["{run}.html", "{run}", "thesis.html"])
def test_a_page_never_replaces_a_folder_of_anything_but_pictures(run, tmp_path, name):
    mine = shutil.copytree(run, tmp_path / "run")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").touch()
    before = sorted(tmp_path.rglob("*"))
    assert end("report", mine, "--out", tmp_path / name.format(run=mine))[0] == 2
    assert sorted(tmp_path.rglob("*")) == before


def test_a_run_without_gscl_says_so_instead_of_showing_concepts(run, corpus_folder, tmp_path, micro):
    plain = tmp_path / "plain"
    model = MarEcg(micro.model)
    model.save_pretrained(plain / "model")
    (plain / "metrics.csv").write_text("step,epoch,loss,lr,recon\n1,0.1,2.0,0.1,1.0\n")
    described = json.loads((run / "config.json").read_text())
    described["config"]["gscl"] = None
    (plain / "config.json").write_text(json.dumps(described))
    checked = read(write_report(plain, corpus_folder))
    assert checked.text.count("trained without GSCL") == 3
    assert not [title for title in checked.headings if "Prototypes" in title or "collapse" in title]


def test_a_probe_is_shown_with_intervals_classes_and_seeds(probed, tmp_path):
    probed = without_curves(probed, tmp_path / "probed")
    checked = read(write_report(probed))
    assert "PTB-XL super, protocol strict" in checked.text
    text = " ".join(checked.text.split())
    for shown in ("77.5 ± 1.2", "70.0 to 83.0", "−3.0 (−9.0 to +3.0)", "NORM4881.0", "7: NaN", "encoder †"):
        assert shown in text, shown
    assert "3 of the val and test records or on their patients (2 by the same record, 1 by" in text
    assert "without an AUCHYP" in text
    for chart in ("Macro AUC by share", "ROC, mean over classes", "ROC of encoder, by class", "likeliest"):
        assert chart in text, chart
    (probed / "probe" / "task-strict.json").write_text("{}")
    with pytest.raises(InputError, match="a probe report"):
        write_report(probed)


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
