"""What the sections of a report say is so, of a corpus, of what was quarantined and of a day."""

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from markupsafe import escape
from numpy.typing import NDArray
from tests.made_records import make_ecg, make_record

import ecg_ontology
from marecg.corpus import trained_on
from marecg.corpus.prepared import Corpus
from marecg.errors import CheckpointError
from marecg.model.mar_ecg import MarEcg
from marecg.recipes import Config
from marecg.report import run_page
from marecg.report.day import day_sections
from marecg.report.neighbours import NEAREST, _map, _sharing, neighbours
from marecg.report.page import Section, facts, folded, heading, page, paragraph, table
from marecg.report.records import from_corpus
from marecg.report.texts import Texts


def test_a_record_is_no_neighbour_of_itself(run, corpus_folder):
    section = neighbours(MarEcg.from_pretrained(run), Corpus.open(corpus_folder))
    [figure] = section.figures
    names = [note.partition("<br>")[0].partition(" · ") for note in figure.notes]
    for first in range(0, len(names), NEAREST + 1):
        query, *near = names[first : first + NEAREST + 1]
        assert not query[2]
        assert query[0] not in [name for name, _, _ in near]
        cosines = [float(cosine) for _, _, cosine in near]
        assert cosines == sorted(cosines, reverse=True)


def test_neighbours_that_share_a_leaf_are_set_beside_what_chance_gives():
    """Three of four records share a leaf: among three others each has two like it, so chance gives 67 %."""
    y_BN = np.array([[1, 0], [1, 0], [1, 1], [0, 0]], np.uint8)
    nearest_BK = np.array([[1], [3], [0], [0]])
    assert _sharing(y_BN, nearest_BK).startswith("67 % of a record's")
    assert _sharing(y_BN, nearest_BK).rstrip().endswith("67 % by chance.")
    assert _sharing(y_BN, np.array([[1], [0], [0], [0]])).startswith("100 % of a record's")


def test_the_map_is_drawn_without_a_word_where_lscpu_counts_no_cores(monkeypatch, tmp_path, capfd):
    (tmp_path / "lscpu").write_text("#!/bin/sh\n")
    (tmp_path / "lscpu").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # with it, nobody counts
    monkeypatch.setattr("joblib.externals.loky.backend.context.physical_cores_cache", None)
    unit_BD = np.linalg.qr(np.random.default_rng(0).normal(size=(24, 24)))[0].astype(np.float32)
    [figure] = _map(unit_BD @ unit_BD.T, np.full(24, -1), ecg_ontology.load())
    assert figure.kind == "row"
    assert capfd.readouterr() == ("", "")


def test_records_that_were_not_trained_on_are_shown_first(run, corpus_folder):
    corpus, trained, ontology = Corpus.open(corpus_folder), trained_on.read(run), ecg_ontology.load()
    assert trained is not None
    shown = [each.name for each in from_corpus(corpus, ontology, trained)]
    names = [f"{name}, {source}" for name, source in zip(corpus.ids, corpus.sources, strict=True)]
    last = trained_on.signal_hash(corpus.stored([names.index(shown[-1])])[0])
    without = from_corpus(corpus, ontology, replace(trained, hashes=trained.hashes - {last}))
    assert [each.leaked for each in without] == [False, *[True] * (len(shown) - 1)]
    assert without[0].name == shown[-1]


def test_the_prototypes_are_drawn_beside_a_closeness_that_falls_with_distance(run, monkeypatch):
    drawn: list[NDArray[np.float64]] = []
    monkeypatch.setattr(run_page, "matrix", lambda values, rows, columns, title: drawn.append(values) or "")
    model = MarEcg.from_pretrained(run)
    run_page.prototypes(model, 0.5)
    cosines, closeness = drawn
    np.testing.assert_allclose(np.diag(closeness), 1)
    np.testing.assert_allclose(np.diag(cosines), 1, rtol=1e-5)
    order = list(model.ontology.by_family)
    distance = float(model.ontology.distances[order[0], order[1]])
    np.testing.assert_allclose(closeness[0, 1], np.exp(-2 * distance))


def test_one_row_of_numbers_is_told_and_not_drawn(tmp_path):
    (tmp_path / "metrics.csv").write_text("step,epoch,loss\n1,0,2.5\n2,0,2.0\n")
    (tmp_path / "monitors.csv").write_text("step,spread\n2,0.125\n")
    curves, numbers = (escape(section.parts[0]) for section in run_page.training(tmp_path, {}, 40))
    assert str(curves).count("<svg") == 1
    assert "<svg" not in numbers
    assert "<dt>spread</dt><dd>0.125</dd>" in numbers


def hole(path: Path) -> None:
    path.write_text("step,loss\n1,2.5\n")
    os.truncate(path, 5 << 30)


@pytest.mark.parametrize("name", ["metrics.csv", "monitors.csv"])
@pytest.mark.parametrize(
    ("write", "problem"),
    [
        (os.mkfifo, "isn't a file"),
        (lambda path: path.symlink_to("/dev/zero"), "isn't a file"),
        (hole, "must have at most 256 MB"),
        (
            lambda path: path.write_text("step,loss\n1,1e308\n2,-1e308\n"),
            r"loss must be at least -1e\+\d+, got -1e\+308",
        ),
        (lambda path: path.write_text("step,\x1b[31mred\n1,2\n"), "isn't a table of numbers"),
        (lambda path: path.write_text("step,loss\n1,high\n"), "isn't a table of numbers"),
        (lambda path: path.write_text(""), "isn't a table of numbers"),
    ],
)
def test_a_table_of_training_that_cannot_be_is_refused_in_one_line(tmp_path, name, write, problem):
    (tmp_path / "metrics.csv").write_text("step,loss\n1,2.5\n2,2.0\n")
    (tmp_path / name).unlink(missing_ok=True)
    write(tmp_path / name)
    with pytest.raises(CheckpointError, match=rf"{name}: {problem}") as refused:
        run_page.training(tmp_path, {}, 40)
    assert "\n" not in str(refused.value)


def test_text_that_looks_like_html_stays_text():
    script = "<script>x</script>"
    parts = [paragraph(script), table((script,), [(script,)]), facts({script: script})]
    parts.append(folded(script, heading(script)))
    assert "<script>" not in page(script, script, [Section(script, parts), Section("t", [script])])  # type: ignore[list-item]


@pytest.fixture(scope="module")
def model(micro: Config) -> MarEcg:
    torch.manual_seed(0)
    model = MarEcg(micro.model).eval()
    torch.nn.init.normal_(model.prototypes)
    return model


def test_a_recording_of_an_hour_and_a_bit(model, tmp_path, monkeypatch):
    monkeypatch.setattr("marecg.report.day.HOUR", 5)  # minutes
    x_CL = np.tile(make_ecg(60, fs=100), 12)
    make_record(tmp_path, "day", x_CL[:2], fs=100, leads=("I", "II"))
    day, changes = day_sections(model, tmp_path / "day", model.ontology, Texts("en"))
    rates, hours = day.figures
    assert [len(rates.pictures), len(hours.pictures), *hours.notes] == [1, 3, "0:00", "1:00", "2:00"]
    ticks = re.findall(r">(\d+(?:\.\d+)?)<", str(rates.pictures[0]))
    assert any(abs(float(tick) - 75) < 10 for tick in ticks)  # a beat every 0.8 s
    assert re.findall(r"\d:\d\d–\d:\d\d", str(changes.parts[1]))[0].startswith("0:00")


def test_a_short_record_has_none_of_it(model, tmp_path):
    make_record(tmp_path, "short", make_ecg())
    assert not list(day_sections(model, tmp_path / "short", model.ontology, Texts("en")))
