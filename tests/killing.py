"""A reader that gets its process killed, installed as other people's readers are."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.installed import install

from ecg_records.readers import discovery

READER = '''
import os
import signal
from dataclasses import dataclass

from ecg_records.readers.datasets.cinc2021 import Cinc2021


@dataclass(frozen=True)
class Killing(Cinc2021):
    """Does to its process what a kernel does that has no memory left, beside a file that ends in .deadly."""

    source = "killing"
    marks = ("killing",)

    def is_root(self, folder):
        return True

    def candidates(self, root):
        return self.records(root, sorted(root.rglob("*.hea")))

    def read(self, candidate, *stretch):
        if candidate.file.with_suffix(".deadly").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().read(candidate, *stretch)
'''


@contextmanager
def killing_reader(folder: Path, place: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install it for a folder: reading NAME.hea there kills its process as long as there is NAME.deadly."""
    (folder / "killing").touch()
    install(place, patch, "[ecg_records.readers]\nkilling = killing:Killing\n", module="killing", text=READER)
    discovery._installed.cache_clear()
    yield
    discovery._installed.cache_clear()
