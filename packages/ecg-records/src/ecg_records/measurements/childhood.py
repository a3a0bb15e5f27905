"""Normal limits of heart rate, PR, QRS and QTc in childhood, by age and sex.

The limits are the 2nd and 98th percentiles of 1,912 healthy Dutch children aged 11 days or more (Rijnbeek et
al. 2001, "New normal limits for the paediatric electrocardiogram", Eur Heart J 22:702). The study measured
with the program MEANS, and `intervals` uses the same method.
"""

from ecg_records.measurements.intervals import Measurements

ADULT, YOUNGEST = 16, 11 / 365.25
"""Age in years from which adult limits apply, and youngest age with limits in the study."""
FAST = 100
"""Heart rate per minute above which a child has no QTc, because the end of T is untested at such rates."""
NAMES = ("rate", "pr", "qrs", "qtc")
# Each row starts with the age in years up to which it is valid. Four limits follow for each of `NAMES`: low
# and high for boys, low and high for girls. QTc is Bazett's.
_BY_AGE = (
    (1 / 12, 129, 192, 136, 216, 77, 120, 91, 121, 50, 85, 54, 79, 378, 448, 379, 462),
    (3 / 12, 126, 187, 126, 200, 85, 120, 78, 133, 52, 77, 48, 77, 396, 458, 381, 454),
    (6 / 12, 112, 165, 122, 191, 87, 134, 84, 127, 54, 85, 50, 78, 391, 453, 386, 448),
    (1, 106, 194, 106, 187, 82, 141, 88, 133, 52, 86, 52, 80, 379, 449, 381, 446),
    (3, 97, 155, 95, 178, 86, 151, 78, 147, 54, 88, 54, 85, 383, 455, 381, 447),
    (5, 73, 123, 78, 124, 98, 152, 99, 153, 58, 92, 58, 88, 377, 448, 388, 442),
    (8, 62, 113, 68, 115, 99, 160, 92, 156, 63, 98, 59, 95, 371, 443, 375, 449),
    (12, 55, 101, 58, 110, 105, 174, 103, 163, 67, 103, 66, 99, 373, 440, 365, 447),
    (16, 48, 99, 54, 107, 107, 178, 106, 176, 78, 111, 72, 106, 362, 449, 370, 457),
)


def is_child(age: float | None) -> bool:
    """Return whether an age in years is below `ADULT`, so that adult limits don't apply."""
    return age is not None and age < ADULT


def limits_of(age: float, sex: str | None) -> dict[str, tuple[float, float]]:
    """Return a child's normal limits (low, high): `rate` per minute, `pr`, `qrs` and `qtc` (Bazett) in ms.

    If the sex is unknown, the limits span both sexes. The result is empty from 16 years on and below 11 days.
    It is also empty for an age of 0, because files give age 0 for any month of the first year.
    """
    if not YOUNGEST <= age < ADULT:
        return {}
    row = next(row[1:] for row in _BY_AGE if age < row[0])
    fours = zip(NAMES, (row[first : first + 4] for first in range(0, len(row), 4)), strict=True)
    of_sex = {"M": slice(0, 2), "F": slice(2, 4)}.get(sex or "", slice(0, 4))
    return {name: (min(four[of_sex]), max(four[of_sex])) for name, four in fours}


def qtc_at(age: float | None, measured: Measurements, formula: str) -> float | None:
    """Return `measured.qtc(formula)`, or None for a child with a heart rate above 100/min."""
    return None if is_child(age) and (measured.rate or 0) > FAST else measured.qtc(formula)
