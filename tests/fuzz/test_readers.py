"""Any bytes in any place of a valid file: kept, quarantined or refused, in bounded time and memory."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz.corpus_fuzz import LARGEST, SLOWEST, peak, prepared
from tests.fuzz.sources import KINDS

SHARE = st.floats(0, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_any_bytes_are_read_or_refused(kind, tmp_path):
    KINDS[kind](tmp_path)
    good = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    prepared(tmp_path)  # imports
    before = peak()

    @settings(max_examples=8)
    @given(st.sampled_from(sorted(good)), SHARE, st.integers(0, 64), st.binary(max_size=64), st.booleans())
    def read(name: str, share: float, replaced: int, put: bytes, near_begin: bool) -> None:
        content = good[name]
        at = int(share * min(len(content), 512 if near_begin else len(content)))
        with TemporaryDirectory() as folder:
            for each, other in good.items():
                Path(folder, each).write_bytes(other)
            Path(folder, name).write_bytes(content[:at] + put + content[at + replaced :])
            began = time.process_time()
            assert prepared(Path(folder))
            assert time.process_time() - began < SLOWEST

    read()
    assert peak() - before < LARGEST
