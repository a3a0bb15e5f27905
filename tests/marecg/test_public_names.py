"""The door of the package: what `dir` shows, what a notebook shows, and examples that run."""

import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.marecg.report.test_page import Checked

import ecg_ontology
import marecg
import marecg_cli
from marecg.corpus.prepared import Corpus

HOMES = sorted(
    {*marecg._HOMES.values(), "marecg", "marecg.recipes", "marecg.recipes.overrides", "marecg.settings"}
)


def test_the_three_packages_tell_one_version():
    assert marecg.__version__ == ecg_ontology.__version__ == marecg_cli.__version__
    assert "__version__" in dir(ecg_ontology)


@pytest.mark.parametrize("name", HOMES)
def test_the_examples_of_the_public_names_run(name):
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


@pytest.mark.parametrize(("package", "command"), [("marecg", "marecg"), ("ecg_ontology", "ecgonto")])
def test_a_package_runs_as_its_command(package, command):
    ways = ([sys.executable, "-m", package], [str(Path(sys.executable).with_name(command))])
    helps = [subprocess.run([*way, "--help"], capture_output=True, text=True, check=True) for way in ways]
    as_module, as_command = (done.stdout.partition("[OPTIONS]")[2].split() for done in helps)
    assert as_module == as_command != []


def test_a_notebook_shows_arrays_by_shape_a_corpus_by_counts_and_an_ontology_by_family(corpus_folder):
    h_BD, h_BTD = np.zeros((2, 8), np.float32), np.zeros((2, 5, 8), np.float32)
    shown = Checked(marecg.Embeddings(h_BD, h_BTD)._repr_html_()).text.split()
    assert " ".join(shown).endswith("rhythm 2 × 8 float32 patch 2 × 5 × 8 float32")
    corpus = Corpus.open(corpus_folder)
    shown = " ".join(Checked(corpus._repr_html_()).text.split())
    assert shown.startswith("10 records collection records")
    assert str(int(corpus.y.sum(0).max())) in shown
    shown = Checked(ecg_ontology.load()._repr_html_()).text
    assert "Rhythm" in shown
    assert shown.count("AntMI") == 1
    shown = Checked(ecg_ontology.load().route("54329005")._repr_html_()).text
    assert "54329005" in shown
    assert "routed25, 19, 3" in shown
    assert "&lt;b" in ecg_ontology.load().route("<b>")._repr_html_(), "what was asked for is text"
