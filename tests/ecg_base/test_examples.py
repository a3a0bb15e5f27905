"""The examples of the docstrings run."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("module", ["errors", "escaping", "files", "reading"])
def test_the_examples_of_a_module_run(module):
    failed, tried = doctest.testmod(importlib.import_module(f"ecg_base.{module}"))
    assert failed == 0
    assert tried
