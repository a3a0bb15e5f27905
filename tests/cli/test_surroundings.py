"""What a machine may lack says nothing on a command's stderr."""

import logging
import os
import subprocess
import sys
import warnings

import pytest

from marecg_cli import _output


def test_libraries_say_nothing_of_a_home_or_of_dev_shm(capsys):
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        _output._silence_libraries()
        warnings.warn("[Errno 2] No such file.  joblib will operate in serial mode", stacklevel=1)
        warnings.warn("something else", stacklevel=1)
    assert [str(each.message) for each in shown] == ["something else"]
    logging.getLogger("matplotlib").warning("mkdir -p failed for path /proc/.config/matplotlib")
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_a_training_leaves_nothing_in_the_temporary_folder(corpus, tmp_path):
    """PyTorch and PyG make a folder and a file there when they are imported."""
    (tmp_path / "tmp").mkdir()
    settings = ["model.width=16", "model.depth=1", "model.heads=2", "train.max_steps=1"]
    options = ["--recipe", "tiny", "--data", corpus, "--out", tmp_path / "run"]
    command = [sys.executable, "-m", "marecg", "train", *options, *(f"--set={value}" for value in settings)]
    surroundings = {name: value for name, value in os.environ.items() if name != "TORCHINDUCTOR_CACHE_DIR"}
    subprocess.run(command, env=surroundings | {"TMPDIR": str(tmp_path / "tmp")}, check=True)
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.fixture(autouse=True)
def _matplotlib_as_it_was():
    level = logging.getLogger("matplotlib").level
    yield
    logging.getLogger("matplotlib").setLevel(level)
