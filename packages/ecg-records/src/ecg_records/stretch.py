"""Define stretches of recordings, and limits on the size of records for all readers.

Long recordings, such as a day of ECG, are read in stretches. The environment variable `ECG_RECORDS_LIMITS`
multiplies all limits by its value.
"""

import math
import os
from pathlib import Path
from typing import NamedTuple

from ecg_records.errors import Reason, RecordError

WIDEN = "set ECG_RECORDS_LIMITS=4 to allow four times as much"
WIDER = float(os.environ.get("ECG_RECORDS_LIMITS") or 1)
LONGEST = round(100e6 * WIDER)
"""Maximum number of samples per lead in a recording. A day at 1000 Hz has 86 million."""
LONGEST_READ = round(8e6 * WIDER)
"""Maximum number of samples per lead to read at a time: two hours at 1000 Hz, 400 MB for twelve leads of
float32."""
FILE_BYTES = round((64 << 20) * WIDER)
"""Maximum size of a file that can't be read in stretches (XML, SCP-ECG, DICOM). An hour of 12 leads at 500 Hz
takes 43 MB."""
MOST_CODES = round(1000 * WIDER)
"""Maximum number of codes of a record. Records of the CinC Challenges have at most 30."""


class Stretch(NamedTuple):
    """Part of a recording: `seconds` from `start` on, or everything from `start` on if `seconds` is None."""

    start: float = 0.0
    seconds: float | None = None

    def samples(self, fs: float, length: int) -> slice:
        """Return the samples of the stretch as a slice. Adjacent stretches have no gap and no overlap.

        Raises `RecordError` (`too-long`) if the recording has more than `LONGEST` samples, or the stretch
        more than `LONGEST_READ` samples.

        Example:
            >>> Stretch(1, 2).samples(250, 600), Stretch(start=2).samples(250, 600)
            (slice(250, 600, None), slice(500, 600, None))
        """
        first = min(_nth(self.start, fs), length)
        stop = length if self.seconds is None else min(length, _nth(self.start + self.seconds, fs))
        for count, most, use in ((length, LONGEST, ""), (stop - first, LONGEST_READ, " to be read at once")):
            if count > most:
                problem = f"must have at most {most:,} samples per lead{use}, got {count:,}; {WIDEN}"
                raise RecordError(Reason.too_long, problem)
        return slice(first, stop)

    def within(self, start: float, seconds: float | None) -> "Stretch":
        """Return a part of this stretch. `start` is relative to the start of this stretch.

        Example:
            >>> Stretch(60, 10).within(8, 5), Stretch(60).within(8, None)
            (Stretch(start=68, seconds=2), Stretch(start=68, seconds=None))
        """
        left = math.inf if self.seconds is None else max(0, self.seconds - start)
        most = min(left, math.inf if seconds is None else seconds)
        return Stretch(self.start + start, None if most == math.inf else most)

    def length(self, fs: float, length: int) -> int:
        """Return the number of samples of the stretch in a recording of `length` samples."""
        if self.seconds is None:
            return length
        return max(0, min(length, _nth(self.start + self.seconds, fs)) - _nth(self.start, fs))


WHOLE = Stretch()


def _nth(seconds: float, fs: float) -> int:
    return math.ceil(seconds * fs - 1e-6)


def refuse_large(file: Path) -> None:
    """Raise `RecordError` if a file is larger than `FILE_BYTES`."""
    size = file.stat().st_size
    if size > FILE_BYTES:
        problem = f"must have at most {FILE_BYTES >> 20} MB, got {size >> 20:,} MB; {WIDEN}"
        raise RecordError(Reason.too_long, problem)


def refuse_codes(count: int) -> None:
    """Raise `RecordError` if a record has more than `MOST_CODES` codes."""
    if count > MOST_CODES:
        raise RecordError(Reason.too_long, f"must have at most {MOST_CODES:,} codes, got {count:,}; {WIDEN}")
