"""The truth about a synthetic record, as the JSON that lies beside it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marecg.synth.dipole import Array
from marecg.synth.record import SyntheticRecord

_DECIMALS = 4


def truth(record: SyntheticRecord) -> dict[str, Any]:
    """What is known about a record, ready for JSON.

    Times are s from the first sample, `r_sample` an index; null stands where a beat has no such wave or
    interval. `intervals` are medians over the record, of the beats that have them; `rr` is the time since the
    beat before.
    """
    beats = record.beats
    per_beat = {
        "rr": np.diff(beats.r_peak, prepend=np.nan),
        "pr": beats.qrs_onset - beats.p_onset,
        "qrs": beats.qrs_offset - beats.qrs_onset,
        "qt": beats.t_end - beats.qrs_onset,
    }
    times = ("p_onset", "qrs_onset", "r_peak", "qrs_offset", "t_end")
    return {
        "fs": record.fs,
        "samples": record.leads_mv.shape[1],
        "age": record.patient.age,
        "sex": record.patient.sex,
        "diagnoses": list(record.diagnoses),
        "codes": list(record.codes),
        "intervals": {name: _median(values) for name, values in per_beat.items()},
        "p_onsets": _listed(record.p_onsets),
        "beats": {
            "kind": beats.kind.tolist(),
            "r_sample": r_samples(record).tolist(),
            **{name: _listed(getattr(beats, name)) for name in times},
            **{name: _listed(values) for name, values in per_beat.items()},
        },
    }


def r_samples(record: SyntheticRecord) -> NDArray[np.int64]:
    """The sample nearest to each R-peak: int64[N]."""
    nearest = np.rint(record.beats.r_peak * record.fs).astype(np.int64)
    return np.asarray(np.minimum(nearest, record.leads_mv.shape[1] - 1))


def _median(values: Array) -> float | None:
    present = values[~np.isnan(values)]
    return round(float(np.median(present)), _DECIMALS) if present.size else None


def _listed(values: Array) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), _DECIMALS) for value in values]
