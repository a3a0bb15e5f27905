"""What is kept of a record: the window that training reads, its samples, and the beats in them."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.made_records import make_bigeminy, make_ecg, make_record

from ecg_records import read
from ecg_records.measurements.rpeaks import detect, detect_best
from ecg_records.readers.discovery import find
from ecg_records.signal.samples import resample
from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepare import prepare
from marecg.corpus.prepare_record import prepare_block, prepare_record, windowed
from marecg.errors import Reason, RecordError


def test_what_lies_behind_the_window_condemns_no_record(tmp_path):
    x_CL = make_ecg()
    x_CL[3, 4800:4810] = np.nan
    x_CL[4, 4900] = 30
    make_record(tmp_path / "wfdb", "A0001", x_CL)
    assert prepare([tmp_path / "wfdb"], tmp_path / "out", jobs=1).kept == 1


def test_a_recording_of_less_than_five_seconds_is_too_short(tmp_path):
    brief, enough = (read(make_record(tmp_path, f"{seconds:g}", make_ecg(seconds))) for seconds in (4.9, 5))
    with pytest.raises(RecordError, match=r"must last at least 5 s, got 4.90 s") as refused:
        prepare_record(brief, CorpusConfig())
    assert refused.value.reason == Reason.too_short
    assert prepare_record(enough, CorpusConfig())[0]["n_valid"] == 2500


def test_a_window_is_the_beginning_of_the_whole_recording_resampled(tmp_path):
    """A filter that met the window's end would bend its last samples; a millivolt is drawn behind it."""
    x_CL = make_ecg(12, 1000)
    x_CL[:, 9401:] += 1
    record = read(make_record(tmp_path, "A0001", x_CL, fs=1000))
    d_CL, n_valid = windowed(record, CorpusConfig())
    whole_CL = resample(record.x_CL, 1000, 500)[:, :4700]
    assert n_valid == 4700
    np.testing.assert_allclose(d_CL, whole_CL * 1000, atol=1)


def test_what_is_no_number_behind_the_window_is_not_drawn_into_it_by_the_filter(tmp_path):
    x_CL = make_ecg(12, 1000)
    cut = read(make_record(tmp_path, "A0001", x_CL[:, :9404], fs=1000))
    x_CL[3, 9404:9410] = np.nan
    gap = read(make_record(tmp_path, "A0002", x_CL, fs=1000))
    np.testing.assert_array_equal(windowed(gap, CorpusConfig())[0], windowed(cut, CorpusConfig())[0])


def test_a_record_without_usable_peaks_is_kept(tmp_path):
    rng = np.random.default_rng(0)
    ramp = np.linspace(0.01, 0.2, 5000) + rng.normal(0, 1e-4, (12, 5000))
    make_record(tmp_path / "in", x_CL=ramp)
    prepare([tmp_path / "in"], tmp_path / "out", jobs=1)
    row = pq.read_table(tmp_path / "out" / "index.parquet").to_pylist()[0]
    assert isinstance(row["rpeaks"], list)


def test_beats_are_looked_for_in_all_leads_unless_lead_i_is_asked_for(tmp_path):
    x_CL, beats = make_bigeminy(0.5)
    make_record(tmp_path / "in", x_CL=x_CL)
    before_the_end = beats[beats < 4700]
    for lead, expected in (("best", before_the_end), ("I", before_the_end[::2])):
        prepare([tmp_path / "in"], tmp_path / lead, CorpusConfig(rpeaks_lead=lead), jobs=1)
        (row,) = pq.read_table(tmp_path / lead / "index.parquet").to_pylist()
        np.testing.assert_allclose(row["rpeaks"], expected, atol=4)


@pytest.mark.parametrize("lead", ["I", "best"])
def test_records_of_a_block_have_the_beats_of_their_own_stored_samples_whatever_their_length(lead, tmp_path):
    for number, seconds in enumerate((10, 6, 12, 6.5)):
        make_record(tmp_path, f"E0000{number}", make_ecg(seconds, seed=number))
    block = prepare_block(find([tmp_path]), CorpusConfig(rpeaks_lead=lead))
    assert [row["n_valid"] for row in block.rows] == [4700, 3000, 4700, 3250]
    for row, d_CL in zip(block.rows, block.signals_nCL, strict=True):
        x_CL = d_CL[:, : row["n_valid"]] / 1000
        alone = detect(x_CL[0], 500) if lead == "I" else detect_best(x_CL, 500)
        assert row["rpeaks"] == alone.tolist()
        assert len(alone) >= 7
