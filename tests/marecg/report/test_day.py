"""A recording of hours has its rate, its hours and its changes on the page."""

import re

import numpy as np
import pytest
import torch
from tests.marecg.made_records import make_ecg, make_record

from marecg.model.mar_ecg import MarEcg
from marecg.recipes import Config
from marecg.report.day import day_sections
from marecg.report.texts import Texts


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
