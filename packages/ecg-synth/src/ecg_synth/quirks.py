"""Make defective records as found in real corpora, for tests of corpus readers.

A quirk changes the leads, the header or the signal file of a regular record.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ecg_synth.leads import LEADS

Samples = NDArray[np.int16]
T = TypeVar("T")

FRANK = ("vx", "vy", "vz")
_MISSING = -32768
"""WFDB's value for an invalid sample in format 16."""


def _same(value: T) -> T:
    return value


@dataclass(frozen=True)
class Quirk:
    """Kind of defect.

    Attributes:
        summary: readable description of the defect.
        readable: whether a reader can still get all twelve leads in mV from the record's files.
        leads: names of the record's signals, in their order.
        samples: function that changes the samples.
        header: function that changes the text of the header.
        matrix: function that changes the content of the signal file. If it returns None, no file is written.
        fs: samples per second.
        seconds: length of the record.
        twin: whether the record is also written under a second name.
    """

    summary: str
    readable: bool = True
    leads: tuple[str, ...] = LEADS
    samples: Callable[[Samples], Samples] = _same
    header: Callable[[str], str] = _same
    matrix: Callable[[bytes], bytes | None] = _same
    fs: int = 500
    seconds: float = 10.0
    twin: bool = False


def _put(rows: slice | int, columns: slice, value: int) -> Callable[[Samples], Samples]:
    def change(samples: Samples) -> Samples:
        changed = samples.copy()
        changed[rows, columns] = value
        return changed

    return change


def _replace(pattern: str, replacement: str, count: int = 0) -> Callable[[str], str]:
    def change(header: str) -> str:
        return re.sub(pattern, replacement, header, count=count, flags=re.MULTILINE)

    return change


QUIRKS: Mapping[str, Quirk] = {
    # The header.
    "georgia-date": Quirk(
        "the record's name ends in .mat and the date is before the time",
        header=_replace(r"\A(\S+)(.*)$", r"\1.mat\2 05-May-2020 09:49:17", 1),
    ),
    "crlf": Quirk("lines end in CR LF", header=lambda header: header.replace("\n", "\r\n")),
    "spaced-comments": Quirk("comments have a space after the #", header=_replace(r"^#", "# ")),
    "blank-dx": Quirk("#Dx: is blank", header=_replace(r"^#Dx: .*$", "#Dx: ")),
    "no-dx": Quirk("there is no #Dx: line", header=_replace(r"^#Dx: .*\n", "")),
    "empty-code": Quirk("a code is empty", header=_replace(r"^#Dx: .*$", "#Dx: 427084000,,427172004")),
    "unknown-code": Quirk(
        "a code is outside the Challenge's map", header=_replace(r"^(#Dx: .*)$", r"\1,251238007")
    ),
    "malformed-code": Quirk(
        "a code isn't a number", header=_replace(r"^#Dx: .*$", "#Dx: 42678x006,426783006")
    ),
    "text-labels": Quirk("text labels are in place of codes", header=_replace(r"^#Dx: .*$", "#Dx: STE,RBBB")),
    "nan-age": Quirk("the age is NaN", header=_replace(r"^#Age: .*$", "#Age: NaN")),
    "letter-sex": Quirk("the sex is a letter", header=_replace(r"^#Sex: .*$", "#Sex: F")),
    "lower-sex": Quirk("the sex is in lower case", header=_replace(r"^#Sex: .*$", "#Sex: female")),
    "lower-units": Quirk("units are written mv", header=_replace(r"/mV ", "/mv ")),
    "cpsc-format": Quirk(
        "format and gain are spelled out", header=_replace(r"16\+24 1000/mV", "16x1+24 1000.0(0)/mV")
    ),
    "microvolts": Quirk("the gain is per microvolt", header=_replace(r" 1000/mV ", " 1/uV ")),
    "zero-gain": Quirk("the gain is 0", readable=False, header=_replace(r" 1000/mV ", " 0/mV ")),
    "no-gain": Quirk(
        "signal lines end after the format", readable=False, header=_replace(r" 1000/mV .*$", "")
    ),
    "empty-header": Quirk("the header is empty", readable=False, header=lambda _: ""),
    "binary-header": Quirk("the header isn't text", readable=False, header=lambda _: "\0\x01\x02" * 40),
    # The leads.
    "lower-leads": Quirk("lead names are in lower case", header=lambda header: _cased(header, str.lower)),
    "upper-leads": Quirk("lead names are in upper case", header=lambda header: _cased(header, str.upper)),
    "permuted-leads": Quirk("leads are in another order", leads=LEADS[6:] + LEADS[5::-1]),
    "missing-lead": Quirk("V6 is missing", readable=False, leads=LEADS[:-1]),
    "duplicated-lead": Quirk("V1 exists twice and V6 is missing", readable=False, leads=(*LEADS[:-1], "V1")),
    "ptb-15-leads": Quirk(
        "1000 Hz, 38 s, with Frank's three leads", leads=LEADS + FRANK, fs=1000, seconds=38.4
    ),
    # The signal.
    "zero-leads": Quirk("V1–V6 are zero throughout", samples=_put(slice(6, None), slice(None), 0)),
    "constant-lead": Quirk("V3 is constant", samples=_put(8, slice(None), 512)),
    "all-zero": Quirk("all leads are zero throughout", samples=_put(slice(None), slice(None), 0)),
    "invalid-samples": Quirk("lead II has invalid samples", samples=_put(1, slice(2000, 2500), _MISSING)),
    "all-invalid": Quirk("all samples are invalid", samples=_put(slice(None), slice(None), _MISSING)),
    "artefact": Quirk("V2 has an artefact of 15 mV", samples=_put(7, slice(3000, 3040), 15000)),
    "clipped": Quirk("amplitudes end at ±0.3 mV", samples=lambda samples: np.clip(samples, -300, 300)),
    "six-seconds": Quirk("lasts 6 s", seconds=6.0),
    "half-second": Quirk("lasts 0.5 s", seconds=0.5),
    "two-minutes": Quirk("lasts 115 s", seconds=115.0),
    # The files.
    "truncated": Quirk(
        "the signal file ends half-way", readable=False, matrix=lambda matrix: matrix[: len(matrix) // 2]
    ),
    "empty-signal": Quirk("the signal file is empty", readable=False, matrix=lambda _: b""),
    "no-signal": Quirk("the signal file is missing", readable=False, matrix=lambda _: None),
    "escaping-path": Quirk(
        "the signal file's path leaves the folder",
        readable=False,
        header=_replace(r"^(\S+\.mat) ", r"../\1 "),
    ),
    "duplicate": Quirk("the record exists twice, with two names", twin=True),
}
"""Quirks by name. Don't change their order: a quirk's position is part of the random seed of its record."""


def _cased(header: str, case: Callable[[str], str]) -> str:
    return re.sub(r"(?<= 0 )(\S+)$", lambda match: case(match[1]), header, flags=re.MULTILINE)
