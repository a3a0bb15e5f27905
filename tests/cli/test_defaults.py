"""Whoever calls from Python and says nothing in particular gets what a bare command gives."""

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from tests.cli.calls import reached

from ecg_ontology.loading import PACKAGED
from marecg.classify.finetune import finetune
from marecg.evaluate.request import Request

MADE = {"watch", "config", "request"}
"""None to a function; a command makes them out of its options, or shows by them how far it is."""

BARE = [
    ("synth --out x", "ecg_synth.write_corpus"),
    ("prepare a --out x", "marecg.corpus.prepare.prepare"),
    ("audit x --against a", "marecg.corpus.audit.audit"),
    ("train --data . --out x", "marecg.train.run.train"),
    ("data get georgia --out x", "marecg.corpus.download.get"),
    ("report run a --out x.html", "marecg.report.record_page.write_record"),
    ("table a", "marecg.evaluate.table.measured"),
    ("embed marecg-small . --out x/", "marecg.embedding.embed_records.embed_records"),
    ("embed marecg-small . --out x.npz", "marecg.embedding.embed_records.embed_records"),
    ("ecgonto target 164889003", "ecg_ontology.explain_codes"),
    (f"ecgonto diff {PACKAGED} {PACKAGED}", "ecg_ontology.compare"),
    ("ecgonto validate", "ecg_ontology.validate"),
]


def plain(value: Any) -> Any:
    """A list is as good as a tuple, and nothing in it as good as None."""
    return (tuple(value) if isinstance(value, list) else value) or None


def defaults_of(function: Callable[..., object]) -> dict[str, Any]:
    """What a function is called with by whoever says nothing."""
    parameters = inspect.signature(function).parameters.items()
    values = {key: each.default for key, each in parameters if each.default is not each.empty}
    return {key: plain(value) for key, value in values.items() if key not in MADE and not callable(value)}


@pytest.mark.parametrize(("line", "target"), BARE, ids=[target for _, target in BARE])
def test_a_bare_command_asks_for_what_its_function_does_by_itself(line, target):
    module, _, name = target.rpartition(".")
    defaults = defaults_of(getattr(import_module(module), name))
    asked = reached(line, target)
    assert {key: plain(asked[key]) for key in defaults} == defaults


def test_fine_tuning_asks_as_a_probe_does():
    asked = defaults_of(finetune)
    assert (asked["fractions"], asked["seeds"]) == (Request().fractions, Request().seeds)
