"""Fixtures of the product's tests that the experiments share."""

# ruff: noqa: F401
from tests.conftest import (
    _without_progress,
    pytest_collection_finish,
    pytest_fixture_setup,
    pytest_runtest_call,
    pytest_runtest_setup,
    pytest_runtest_teardown,
    pytest_sessionstart,
    realdata,
)
from tests.marecg.conftest import corpus_folder, micro
from tests.marecg.evaluate.conftest import gscl_run, ptbxl_root, run_folder, task
from tests.marecg.train.conftest import batch
