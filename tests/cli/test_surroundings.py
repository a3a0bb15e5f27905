"""What a machine may lack says nothing on a command's stderr."""

import logging
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


@pytest.fixture(autouse=True)
def _matplotlib_as_it_was():
    level = logging.getLogger("matplotlib").level
    yield
    logging.getLogger("matplotlib").setLevel(level)
