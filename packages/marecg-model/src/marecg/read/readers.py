"""Every reader there is: those of the published datasets, and those that other packages bring."""

from functools import cache

from marecg.extensions import installed
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


def readers(ptbxl_rate: int = FS) -> tuple[Reader, ...]:
    """Every reader that asks for folders of its own, those of other packages first.

    Raises:
        UsageError: another package's can't be loaded.
    """
    return (*_installed(), PtbXl(ptbxl_rate), Cpsc2018(), Ptbdb(), Code15(), MimicIvEcg())


@cache
def _installed() -> tuple[Reader, ...]:
    return tuple(each() if isinstance(each, type) else each for each in installed(GROUP).values())
