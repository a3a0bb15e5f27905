"""The records and the run that probes are tested on."""

from tests.marecg.evaluate.conftest import ptbxl_root, run_folder

__all__ = ["ptbxl_root", "run_folder"]
