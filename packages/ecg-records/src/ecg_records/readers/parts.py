"""Split long recordings into parts, such as the steps of a timeline."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from ecg_records.errors import RecordError
from ecg_records.record import Candidate, without_ending
from ecg_records.stretch import Stretch

LOOK = 1
"""Number of seconds to read from a recording to find its length."""
Key = TypeVar("Key")


def in_parts(
    candidates: Iterable[tuple[Key, Candidate]],
    starts: Callable[[float], Sequence[float]],
    seconds: float | None = None,
) -> Iterator[tuple[Key, Candidate]]:
    """Split records into parts, and yield each part with the key of its record.

    A record with a single start is yielded as a whole, not cut to `seconds`. A record that can't be read is
    also yielded as a whole, so that the caller gets the error on reading it.

    Args:
        candidates: Records to split, with their keys.
        starts: Function that returns the starts of the parts from the length of the recording, in seconds.
        seconds: Length of each part. If None, each part extends to the end of the recording.
    """
    for key, candidate in candidates:
        try:
            record = candidate.read(seconds=LOOK)
        except RecordError:  # the caller gets the error when it reads the candidate
            yield key, candidate
            continue
        begins = starts(record.length / record.fs)
        for start in begins:
            yield key, candidate if len(begins) == 1 else replace(candidate, part=Stretch(start, seconds))


def every(step: float, seconds: float, shortest: float = 1.0) -> list[float]:
    """Return the starts of steps in a recording, in seconds.

    A last step shorter than `shortest` seconds is left out, unless it is the only step.

    Args:
        step: Length of a step in seconds.
        seconds: Length of the recording.
        shortest: Minimum length of the last step in seconds.

    Example:
        >>> every(10, 30.5), every(10, 31), every(10, 0.5)
        ([0, 10, 20], [0, 10, 20, 30], [0])
    """
    count = max(1, int((seconds - min(step, shortest)) // step) + 1)
    return [round(number * step, 3) for number in range(count)]


def name_of(root_name: str, path: str) -> str:
    """Return the `Candidate.name` of a record from two columns of an index: root name and path.

    Example:
        >>> name_of("georgia", "g1/E00001.hea"), name_of("clinic", "ecgs.npy#17@9.4")
        ('georgia/g1/E00001', 'clinic/ecgs/17@9.4')
    """
    path, suffix = whole_of(path)
    file, mark, row = path.rpartition("#")
    if mark and row.isdecimal():
        return f"{root_name}/{without_ending(file)}/{row}{suffix}"
    return f"{root_name}/{without_ending(path)}{suffix}"


def whole_of(path: str) -> tuple[str, str]:
    """Split the `Candidate.path` of a part into the path of its recording and the part's suffix.

    Example:
        >>> whole_of("r.hea@18.8"), whole_of("a@b.hea")
        (('r.hea', '@18.8'), ('a@b.hea', ''))
    """
    name, mark, start = path.rpartition("@")
    return (name, f"@{start}") if mark and start.replace(".", "", 1).isdecimal() else (path, "")
