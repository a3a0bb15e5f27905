"""Why a record can't enter a corpus: the short names under which reports count quarantined records."""

from enum import StrEnum


class Reason(StrEnum):
    """One name per way in which a record can be unusable; each says what was found, not whose fault it is."""

    # The header.
    unreadable = "unreadable"  # no text, or a file system that won't give it
    header = "header"  # not a WFDB header, or one that contradicts itself
    multi_segment = "multi-segment"
    sampling_rate = "sampling-rate"
    gain = "gain"  # missing or zero: the samples have no unit
    units = "units"
    # The signal file.
    path = "path"  # it lies outside the source folder
    no_signal_file = "no-signal-file"
    truncated = "truncated"
    signal_format = "format"
    # The leads.
    missing_lead = "missing-lead"
    duplicated_lead = "duplicated-lead"
    shape = "shape"  # an array whose axes are not the leads named and their samples
    # The signal itself (paper, §Signal preprocessing; thresholds in `CorpusConfig`).
    too_short = "too-short"
    nan = "nan"
    flat_lead = "flat-lead"
    zero_fraction = "zero-fraction"
    clipping = "clipping"
    extreme_amplitude = "extreme-amplitude"
