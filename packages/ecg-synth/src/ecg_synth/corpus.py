"""Write synthetic corpora to disk: headers, signals, and the ground truth of every record.

Records have the format of the PhysioNet/CinC Challenges 2020/2021: a WFDB header with comments, and a MATLAB
v4 matrix. The matrix file starts with 24 bytes: MATLAB's header of 20 bytes and the name `val`. The samples
follow as little-endian 16-bit integers. WFDB reads the file as format 16 with an offset of 24 bytes.

Shapes: C signals, n samples.
"""

import json
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecg_base import UsageError, refuse_others, replacing
from ecg_synth import findings
from ecg_synth.diagnoses import DIAGNOSES
from ecg_synth.dipole import INDEPENDENT, Array, twelve
from ecg_synth.leads import LEADS
from ecg_synth.noise import Noise
from ecg_synth.quirks import FRANK, QUIRKS, Quirk
from ecg_synth.record import SyntheticRecord, drawn_record, truth

Progress = Callable[[str], AbstractContextManager[Callable[[int, int | None], None]]]
"""Context manager that shows progress. It takes the noun that is counted, such as "records", and yields a
function of (number done, total)."""
_WRITTEN_FILES = re.compile(r"[SQ]\w+\.(hea|mat|truth\.json)|RECORDS|synth\.json")
_LABELS, _QUIRKS = 1, 2
"""Random streams for labels and quirks. They are separate from the random stream of the signals, so labels
and quirks don't change the signals of other records."""


@dataclass(frozen=True)
class Written:
    """Result of `write_corpus`: names of all records, and number of records without defects by diagnosis."""

    names: tuple[str, ...]
    diagnoses: dict[str, int]


@dataclass(frozen=True)
class _Plan:
    """Plan of a corpus: all settings that determine its bytes."""

    records: int
    seed: int
    diagnoses: tuple[str, ...]
    noise: float
    label_noise: float
    quirks: tuple[str, ...]

    def __post_init__(self) -> None:
        """Raise `UsageError` for invalid settings."""
        problem, unknown = "", [name for name in self.quirks if name not in QUIRKS]
        if self.records < 0 or not (self.records or self.quirks):
            problem, remedy = f"records must be at least 1, got {self.records}", "Choose a larger number"
        elif self.seed < 0:
            problem, remedy = f"seed must be at least 0, got {self.seed}", "Choose a whole number from 0"
        elif not self.noise >= 0:
            problem, remedy = f"noise must be at least 0, got {self.noise}", "Choose 0 or more"
        elif not 0 <= self.label_noise <= 1:
            problem = f"label noise must be a probability, got {self.label_noise}"
            remedy = "Choose a number from 0 to 1"
        elif unknown:
            problem, remedy = f"unknown quirk: {', '.join(unknown)}", f"Choose from {', '.join(QUIRKS)}"
        if problem:
            raise UsageError(problem, remedy=remedy)


class _Draft(NamedTuple):
    """Record before it is written. If the record is defective, `quirk` is the name of its defect."""

    name: str
    made: SyntheticRecord
    codes: tuple[str, ...]
    quirk: str | None


@contextmanager
def silent(_what: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show no progress. This is the default `progress` of `write_corpus`."""
    yield lambda done, total: None


def write_corpus(
    out: str | Path,
    records: int,
    seed: int,
    *,
    diagnoses: Sequence[str] = (),
    noise: float = 1.0,
    label_noise: float = 0.0,
    quirks: Sequence[str] = (),
    progress: Progress = silent,
) -> Written:
    """Write WFDB records in the format of the PhysioNet/CinC Challenges.

    The same arguments give the same bytes, and a larger corpus starts with the records of a smaller corpus.
    Each record without defects has a header, a `.mat` signal (500 Hz, 10 s, 12 leads, 1000 steps per mV) and
    its true values in `.truth.json`. The folder is written completely or not at all.

    Args:
        out: new or empty folder, or an older synthetic corpus, which is replaced.
        records: number of records without defects.
        seed: seed of all random numbers.
        diagnoses: abbreviations of findings (keys of `DIAGNOSES`), of which each record gets one as its
            leading finding, with equal probability. Other findings may accompany it. If empty, the leading
            finding is drawn from all findings by weight.
        noise: factor on the strengths of the default noise. 0 gives clean records.
        label_noise: probability that a header lacks a code or has a wrong code. The `.truth.json` keeps the
            right codes.
        quirks: names of defects (keys of `QUIRKS`). For each, a defective record is added.
        progress: shows the number of written records.

    Raises:
        UsageError: a number is out of range, a name is unknown, or the folder holds other files.
        OutputError: the folder can't be written.
    """
    plan = _Plan(records, seed, findings.checked(diagnoses), noise, label_noise, tuple(dict.fromkeys(quirks)))
    out = Path(out)
    refuse_others(out, _WRITTEN_FILES.fullmatch, mark="synth.json")  # PTB uses the same record names
    names: list[str] = []
    counts: Counter[str] = Counter()
    with replacing(out) as folder, progress("records") as report:
        folder.mkdir()
        for done, draft in enumerate(chain(_good(plan), _bad(plan)), start=1):
            names += _write(folder, draft)
            counts.update(draft.made.diagnoses if draft.quirk is None else ())
            report(done, plan.records + len(plan.quirks))
        (folder / "RECORDS").write_text("".join(f"{name}\n" for name in names))
        (folder / "synth.json").write_text(_json({**asdict(plan), "counts": dict(sorted(counts.items()))}))
    return Written(tuple(names), dict(counts.most_common()))


def _good(plan: _Plan) -> Iterator[_Draft]:
    shares = {name: 1.0 if plan.diagnoses else DIAGNOSES[name].weight for name in plan.diagnoses or DIAGNOSES}
    mixture = Noise().times(plan.noise)
    for index in range(plan.records):
        made = drawn_record(shares, np.random.default_rng((plan.seed, index)), noise=mixture)
        labels = np.random.default_rng((plan.seed, index, _LABELS))
        codes = _mislabelled(made.codes, labels) if labels.random() < plan.label_noise else made.codes
        yield _Draft(f"S{index + 1:05d}", made, codes, None)


def _bad(plan: _Plan) -> Iterator[_Draft]:
    for name in plan.quirks:
        quirk = QUIRKS[name]
        rng = np.random.default_rng((plan.seed, list(QUIRKS).index(name), _QUIRKS))
        made = drawn_record({"NSR": 1.0}, rng, quirk.fs, quirk.seconds, Noise().times(plan.noise))
        yield _Draft(f"Q_{name.replace('-', '_')}", made, made.codes, name)


def _write(folder: Path, draft: _Draft) -> list[str]:
    """Write the files of a record, and return the names under which it was written.

    A record whose quirk has `twin` is written under two names, as a duplicate for tests.
    """
    quirk = QUIRKS[draft.quirk] if draft.quirk else Quirk("none")
    made = draft.made
    signals = dict(zip(LEADS, quantised(made.leads_mv), strict=True))
    signals |= dict(zip(FRANK, np.rint(made.vcg_mv * PER_MV).astype(np.int16), strict=True))
    samples = quirk.samples(np.stack([signals[lead] for lead in quirk.leads]))
    matrix = quirk.matrix(matrix_of(samples))
    names = [draft.name, f"{draft.name}_twin"] if quirk.twin else [draft.name]
    for name in names:
        header = header_of(
            name, quirk.leads, samples, made.fs, made.patient.age, made.patient.sex, draft.codes
        )
        row = {"name": name, **truth(made), "header_codes": list(draft.codes), "quirk": draft.quirk}
        if matrix is not None:
            (folder / f"{name}.mat").write_bytes(matrix)
        (folder / f"{name}.truth.json").write_text(_json(row))
        (folder / f"{name}.hea").write_bytes(quirk.header(header).encode())
    return names


def _mislabelled(codes: tuple[str, ...], rng: np.random.Generator) -> tuple[str, ...]:
    """Return the codes with a random error: a missing code, an extra code, or a wrong code."""
    foreign = [code for finding in DIAGNOSES.values() for code in finding.codes if code not in codes]
    removed, added = int(rng.integers(len(codes))), str(rng.choice(foreign))
    shorter = codes[:removed] + codes[removed + 1 :]
    return (shorter or (added,), (*codes, added), (*shorter, added))[int(rng.integers(3))]


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False) + "\n"


PER_MV = 1000
"""Gain of the CinC Challenges in steps per mV: a step is a microvolt."""

_INDEPENDENT_ROWS = [LEADS.index(lead) for lead in INDEPENDENT]
_FULL_SCALE = 32767
_MATLAB_INT16 = 30


def quantised(leads_mv: Array) -> NDArray[np.int16]:
    """Return the twelve leads in steps of 1 µV, int16[12, n], so that I + III = II holds exactly."""
    steps = np.rint(leads_mv[_INDEPENDENT_ROWS] * PER_MV)
    return np.clip(np.rint(twelve(steps)), -_FULL_SCALE, _FULL_SCALE).astype(np.int16)


def matrix_of(samples: NDArray[np.int16]) -> bytes:
    """Return the content of the `.mat` file for samples int16[C, n]."""
    channels, n = samples.shape
    return (
        struct.pack("<5i4s", _MATLAB_INT16, channels, n, 0, 4, b"val\0") + samples.T.astype("<i2").tobytes()
    )


def header_of(
    name: str,
    leads: Sequence[str],
    samples: NDArray[np.int16],
    fs: int,
    age: int,
    sex: str,
    codes: Sequence[str],
) -> str:
    """Return the text of the `.hea` file, with the first sample and the checksum of each signal."""
    checksums = samples.sum(axis=1, dtype=np.int64).astype(np.int16)
    lines = [f"{name} {len(leads)} {fs} {samples.shape[1]}"]
    lines += [
        f"{name}.mat 16+24 {PER_MV}/mV 16 0 {first} {checksum} 0 {lead}"
        for lead, first, checksum in zip(leads, samples[:, 0], checksums, strict=True)
    ]
    lines += [f"#Age: {age}", f"#Sex: {sex}", f"#Dx: {','.join(codes)}"]
    lines += [f"#{comment}: Unknown" for comment in ("Rx", "Hx", "Sx")]
    return "\n".join(lines) + "\n"
