"""The architecture stays within its limits."""

import pytest
from tests.architecture import figures


@pytest.mark.parametrize("figure", figures.figures(), ids=lambda each: each.measure)
def test_a_figure_is_within_its_limit(figure):
    assert figure.value <= figure.limit, "see python -m tests.architecture.figures"


def test_what_training_reaches_is_counted_with_all_that_it_imports():
    reached = figures.reached("marecg.train.run")
    assert {"marecg.train.run", "marecg.nn.encoder", "ecg_ontology"} <= reached
    assert "marecg.read.discovery" not in reached


def test_a_circle_of_rooms_is_counted(monkeypatch):
    room = {"marecg.train": "a", "marecg.corpus": "b", "marecg.base": "a"}
    plan = figures.plan("marecg.", lambda module: room.get(".".join(module.split(".")[:2]), ""))
    assert plan.circles > 0
