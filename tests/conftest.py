"""What every test may use: the real ECGs, where they are, and calm hypothesis settings."""

import os
from pathlib import Path

# Two workers share two cores: a second thread in each would only wait for the other's.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

settings.register_profile("project", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("project")


@pytest.fixture(scope="session")
def realdata() -> Path:
    """The folder of real ECGs that MARECG_REALDATA names; the test is skipped where it names none."""
    folder = os.environ.get("MARECG_REALDATA")
    if not folder:
        pytest.skip("MARECG_REALDATA is not set: no real ECGs to test on")
    path = Path(folder)
    assert path.is_dir(), f"MARECG_REALDATA names {path}, which is no folder"
    return path
