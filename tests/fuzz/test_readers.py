"""Any damage to a valid file: its records are kept, quarantined or refused, in bounded time and memory.

`pytest tests/fuzz/test_readers.py --hypothesis-profile=daily` damages every kind more often, each time anew.
"""

import re
import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz.sources import KINDS, LAYOUT

from ecg_records.readers.discovery import find
from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepare_record import prepare_block
from marecg.errors import EcgError

SLOWEST = 2.0
"""Seconds of processor time that one source may take."""
LARGEST = 1 << 20
"""Kilobytes by which the process may grow."""
NUMBERS = ("0", "-1", "1e309", "nan", "9" * 20, "0x10", "½", "1.2.3", "16x3", "16+9999999", "9" * 5000)
PATHS = ("../secret.mat", "/etc/hostname", "..", "sub/x.mat", "~", "\0", "x" * 5000, "s3://a/b")
WORDS = ("", *'-#\r("é', "\n\n", "{'", "[" * 300, "mV", "/uV", "\x1b[31m", "V1", "#Dx: 1,2,x" * 50)
FORMATS = [f"{number}+24" for number in (8, 16, 24, 32, 61, 80, 160, 212, 310, 311, 516)]
FIELD = st.sampled_from((*NUMBERS, *PATHS, *WORDS, *FORMATS)) | st.text(max_size=3)
LENGTHS = (0, 1, 2, 12, 15, 255, 0xFFFF, 1 << 16, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)
LENGTH = st.builds(lambda length, width: (length % (1 << 8 * width)).to_bytes(width, "little"),
                   st.sampled_from(LENGTHS), st.sampled_from((2, 4, 8)))  # fmt: skip
OURS = (".py", ".pyc", ".so", gettempdir())
"""First imports, and files without a name, in which what was packed is unpacked."""
BYTE = st.binary(min_size=1, max_size=1)
PIECE = BYTE | BYTE | LENGTH | st.binary(max_size=64) | st.integers(1, 64).map(bytes)


@st.composite
def changed_text(draw: st.DrawFn, content: bytes) -> bytes:
    """A field put, replaced or gone, and now and then a line doubled."""
    lines = content.decode(errors="replace").split("\n")
    row, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    fields = re.split("([ ,;])", lines[row])
    at = draw(st.integers(0, len(fields) - 1))
    fields[at : at + draw(st.integers(0, 2))] = [draw(FIELD)]
    lines[row : row + 1] = ["".join(fields), lines[other]][: draw(st.sampled_from((1, 1, 1, 2)))]
    return "\n".join(lines).encode(errors="replace")


@st.composite
def changed_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """A piece put, replaced or gone, mostly near the ends, where structure lies; or the end cut off."""
    reach = draw(st.sampled_from((512, 2048, len(content))))
    at = draw(st.integers(0, min(reach, len(content))))
    at = draw(st.sampled_from((at, at, len(content) - at)))
    piece = draw(PIECE)
    gone = draw(st.sampled_from([*[len(piece)] * 6, 0, 1, 64, len(content)]))
    return content[:at] + piece + content[at + gone :]


@st.composite
def damaged(draw: st.DrawFn, good: dict[str, bytes]) -> dict[str, bytes]:
    """The files of a source, one of them changed up to three times, or gone."""
    name = draw(st.sampled_from(sorted(good)))
    content = good[name]
    for _ in range(draw(st.integers(0, 3))):
        is_text = name.endswith((".csv", ".hea")) and draw(st.booleans())
        content = draw(changed_text(content) if is_text else changed_bytes(content))
    others = {each: other for each, other in good.items() if each != name}
    return others if content == good[name] else others | {name: content}


def prepared(folder: Path) -> list[str]:
    """What became of each record: `kept`, or the reason of its quarantine; or one refusal for all."""
    try:
        candidates = find([folder], layout=LAYOUT)
    except EcgError:
        return ["refused"]
    block = prepare_block(candidates, CorpusConfig())
    assert len(block.rows) + len(block.quarantined) == len(candidates), "a record is lost or doubled"
    return ["kept"] * len(block.rows) + [each["reason"] for each in block.quarantined]


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.fixture(scope="module")
def opened() -> list[str]:
    """What Python opens from now on; HDF5 and Arrow open what they are given."""
    paths: list[str] = []
    sys.addaudithook(lambda event, args: paths.append(str(args[0])) if event == "open" else None)
    return paths


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_damaged_is_read_or_refused_and_nothing_beside_it_is_opened(kind, tmp_path, opened):
    KINDS[kind](tmp_path)
    good = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(prepared(tmp_path)) == {"kept"}
    before = peak()

    @settings(max_examples=settings().max_examples // 6)
    @given(damaged(good))
    def damage_and_read(files: dict[str, bytes]) -> None:
        with TemporaryDirectory() as home:
            Path(home, "secret.mat").write_bytes(bytes(200_000))
            folder = Path(home).resolve() / "records"
            folder.mkdir()
            for name, content in files.items():
                (folder / name).write_bytes(content)
            opened.clear()
            began = time.process_time()
            prepared(folder)
            assert time.process_time() - began < SLOWEST
            outside = [path for path in opened if not Path(path).is_relative_to(folder)]
            assert not [path for path in outside if not path.endswith(OURS)], outside

    damage_and_read()
    assert peak() - before < LARGEST
