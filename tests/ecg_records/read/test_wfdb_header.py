"""Headers with every quirk that real files have."""

import contextlib
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecg_records.errors import RecordError
from ecg_records.readers.wfdb_header import WfdbHeader, parse_header

HERE = Path("E07500.hea")
SIGNALS = "E07500.mat 16+24 1000/mV 16 0 45 -12 0 I\nE07500.mat 16+24 200/mv 16 0 45 7 0 AVR\n"


def parse(record_line: str = "E07500 2 500 5000", signals: str = SIGNALS, rest: str = "") -> WfdbHeader:
    return parse_header(f"{record_line}\n{signals}{rest}", HERE)


def refused(text: str) -> RecordError:
    with pytest.raises(RecordError) as caught:
        parse_header(text, HERE)
    return caught.value


@pytest.mark.parametrize(
    "line", ["E07500.mat 2 500 5000 05-May-2020 09:49:17", "x 2 500/1(0) 5000 10:20:30 01/02/2020"]
)
def test_an_ending_a_date_in_either_place_and_a_counter_frequency_disturb_nothing(line):
    """The first is a line of Georgia's."""
    assert (parse(line).fs, parse(line).length) == (500, 5000)


def test_windows_line_ends_and_blank_lines_are_passed_over():
    text = f"x 2 500 5000\n\n{SIGNALS}#Age: 63\n".replace("\n", "\r\n")
    assert parse_header(text, HERE).comments == {"age": "63"}


def test_comments_are_found_with_and_without_a_blank_and_a_blank_value_is_not_the_next_line():
    comments = parse(rest="#Age: NaN\n# Sex: Male\n#Dx: \n#Rx: Unknown\n").comments
    assert comments == {"age": "NaN", "sex": "Male", "dx": "", "rx": "Unknown"}


def test_units_are_volts_in_any_spelling_and_gains_are_per_millivolt():
    """Without units a gain is per millivolt, as WFDB defines it."""
    scales = {"/mV": 200, "/mv": 200, "/uV": 200_000, "/µV": 200_000, "/V": 0.2, "": 200}
    for units, per_mv in scales.items():
        header = parse(signals=f"a.dat 16 200{units} 16 0 0 0 0 I\n" * 2)
        assert header.channels[0].per_mv == pytest.approx(per_mv)


def test_a_baseline_in_brackets_goes_before_the_zero_of_the_converter():
    header = parse(signals="a.dat 16 200(12)/mV 16 7 0 0 0 I\na.dat 16 200/mV 16 7 0 0 0 II\n")
    assert [channel.baseline for channel in header.channels] == [12, 7]


@pytest.mark.parametrize("gain", ["0/mV", "0", "0.0(0)/mV", "/mV", "nan/mV", "-"])
def test_a_missing_or_zero_gain_is_refused_instead_of_becoming_200(gain):
    assert refused(f"x 1 500 10\na.dat 16 {gain} 16 0 0 0 0 I\n").reason == "gain"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "header"),
        ("#Dx: 426783006\n", "header"),
        ("x\n", "header"),
        ("x 0 500 10\n", "header"),
        (f"x 3 500 10\n{SIGNALS}", "header"),
        ("x 1 500 10\na.dat\n", "header"),
        ("x 1 500 10\na.dat mat 200/mV 16 0 0 0 0 I\n", "header"),
        ("x/2 1 500 10\nx1 10\n", "multi-segment"),
        (f"x 2\n{SIGNALS}", "sampling-rate"),
        (f"x 2 0 10\n{SIGNALS}", "sampling-rate"),
        (f"x 2 1.2.3 10\n{SIGNALS}", "sampling-rate"),
        ("x 1 500 10\na.dat 16 200/mmHg 16 0 0 0 0 I\n", "units"),
        ("x 1 500 10\na.dat 16x4 200/mV 16 0 0 0 0 I\n", "format"),
    ],
)
def test_a_broken_header_is_refused_with_its_reason(text, reason):
    assert refused(text).reason == reason


@pytest.mark.parametrize("digits", [19, 309, 5000, 200_000])
@pytest.mark.parametrize(
    "text",
    [
        "x {} 500 10\na.dat 16 200/mV 16 0 0 0 0 I\n",
        "x 1 500 {}\na.dat 16 200/mV 16 0 0 0 0 I\n",
        "x 1 500 10\na.dat {} 200/mV 16 0 0 0 0 I\n",
        "x 1 500 10\na.dat 16+{} 200/mV 16 0 0 0 0 I\n",
        "x 1 500 10\na.dat 16 200({})/mV 16 0 0 0 0 I\n",
        "x 1 500 10\na.dat 16 200(-{})/mV 16 0 0 0 0 I\n",
    ],
)
def test_a_number_of_more_digits_than_mean_something_is_refused(text, digits):
    assert refused(text.format("9" * digits)).reason == "header"


def test_a_gain_of_a_million_digits_is_refused_at_once():
    began = time.process_time()
    assert refused(f"x 1 500 10\na.dat 16 {'9' * 1_000_000}(/mV 16 0 0 0 0 I\n").reason == "gain"
    assert time.process_time() - began < 1


@given(st.text())
def test_any_text_is_a_header_or_a_record_error(text):
    header = None
    with contextlib.suppress(RecordError):
        header = parse_header(text, HERE)
    assert header is None or header.fs > 0
