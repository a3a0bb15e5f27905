"""Every reader there is: those of the published datasets, and those that other packages bring."""

from functools import cache
from pathlib import Path

from marecg.base.plugins import installed
from marecg.read.clinical.dicom import DICOM
from marecg.read.clinical.edf import EDF
from marecg.read.clinical.scp import SCP
from marecg.read.clinical.waveform import Format
from marecg.read.clinical.xml import XML
from marecg.read.datasets.cinc2021 import Cinc2021
from marecg.read.datasets.code15 import Code15
from marecg.read.datasets.cpsc2018 import Cpsc2018
from marecg.read.datasets.mimic_iv_ecg import MimicIvEcg
from marecg.read.datasets.ptbdb import Ptbdb
from marecg.read.datasets.ptbxl import FS, PtbXl
from marecg.read.record import Reader

GROUP = "marecg.readers"
"""The entry points by which a package offers a `Reader`: a class without arguments, or an object."""
HEADERS = Cinc2021()
"""Reads the WFDB headers that no other reader claims."""
FORMATS = (DICOM, XML, EDF, SCP)
"""Read the files of hospitals that no other reader claims; a folder may mix them."""


def readers(ptbxl_rate: int = FS) -> tuple[Reader, ...]:
    """Every reader that asks for folders of its own, those of other packages first.

    Raises `UsageError` where another package's can't be loaded.
    """
    return (*_installed(), PtbXl(ptbxl_rate), Cpsc2018(), Ptbdb(), Code15(), MimicIvEcg())


def format_of(file: Path) -> Format | None:
    """Which clinical format a file has, if any."""
    return next((each for each in FORMATS if each.knows(file)), None)


@cache
def _installed() -> tuple[Reader, ...]:
    return tuple(each() if isinstance(each, type) else each for each in installed(GROUP).values())
