"""A table's time column is compared with the sampling rate, orders rows and shows gaps."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.made_records import make_ecg

from ecg_base import InputError
from ecg_records.notes import NoteKind, reported
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.inputs import find_inputs, find_one
from ecg_records.signal.leads import LEADS

FS = 200
X_CL = make_ecg(seconds=4, fs=FS)
SECONDS = np.arange(X_CL.shape[1]) / FS
UNITS = {"time_s": 1, "seconds": 1, "time_ms": 1e3, "time": 1, "t": 1e3, "Time": 1e6, "timestamp": 1e9}


def table(column="time_s", unit=1.0, names=LEADS) -> pd.DataFrame:
    return pd.DataFrame(X_CL.T, columns=list(names)).assign(**{column: SECONDS * unit})


def written(path, rows: pd.DataFrame):
    rows.to_parquet(path) if path.suffix == ".parquet" else rows.to_csv(path, index=False)
    return path


def read(path, fs=FS):
    return find_one(path, Layout(fs)).read()


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("column", [*UNITS, "date"])
def test_a_wrong_rate_is_refused_and_a_right_one_read(tmp_path, column, ending):
    rows = table("timestamp") if column == "date" else table(column, UNITS[column])
    if column == "date":
        rows["timestamp"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(SECONDS, unit="s")
        if ending == ".csv":
            rows["timestamp"] = rows["timestamp"].dt.strftime("%Y-%m-%dT%H:%M:%S.%f")
    path = written(tmp_path / f"a{ending}", rows)
    np.testing.assert_allclose(read(path).x_CL, X_CL, atol=1e-6)
    assert not reported(read(path).notes)
    for wrong in (100, 250, 190, 400):
        with pytest.raises(InputError, match=r"steps of .* Hz\), got "):
            read(path, wrong)


def test_a_column_of_sample_numbers_says_no_rate(tmp_path):
    path = written(tmp_path / "a.csv", table("sample", FS))
    for fs in (FS, 500):
        np.testing.assert_allclose(read(path, fs).x_CL, X_CL, atol=1e-6)


def test_times_that_are_rounded_to_milliseconds_still_fit(tmp_path):
    rows = table().assign(time_s=np.round(np.arange(len(SECONDS)) / 360, 3))
    record = read(written(tmp_path / "a.csv", rows), 360)
    assert (record.length, reported(record.notes)) == (len(SECONDS), ())


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([".csv", ".parquet"]),
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(5, len(SECONDS) - 5), max_size=3),
    st.integers(2, 80),
)
def test_shuffled_rows_are_sorted_and_gaps_are_nan(tmp_path, ending, seed, gaps, width):
    left_out = {row for gap in gaps for row in range(gap, min(gap + width, len(SECONDS) - 1))}
    kept = [row for row in range(len(SECONDS)) if row not in left_out]
    rows = table().iloc[np.random.default_rng(seed).permutation(kept)]
    record = read(written(tmp_path / f"a{ending}", rows))
    expected_CL = X_CL.copy()
    expected_CL[:, sorted(left_out)] = np.nan
    np.testing.assert_allclose(record.x_CL, expected_CL, atol=1e-6)
    texts = ["rows sorted by the column time_s"]
    texts += [f"{len(left_out)} samples missing in the column time_s"] * bool(left_out)
    assert list(reported(record.notes)) == texts


def test_each_record_of_a_table_has_its_own_time(tmp_path):
    rows = pd.concat([table().assign(record="a"), table().drop(index=range(100, 140)).assign(record="b")])
    path = written(tmp_path / "t.csv", rows.sample(frac=1, random_state=1))
    records = {one.read().id: one.read() for one in find_inputs([path], Layout(FS)).values()}
    gap_CL = X_CL.copy()
    gap_CL[:, 100:140] = np.nan
    np.testing.assert_allclose(records["a"].x_CL, X_CL, atol=1e-6)
    np.testing.assert_allclose(records["b"].x_CL, gap_CL, atol=1e-6)
    assert any(note.kind == NoteKind.timing and "40 samples missing" in note for note in records["b"].notes)
    with pytest.raises(InputError, match="got 500 Hz"):
        find_inputs([path], Layout(500))


def long_form(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    return rows.melt(["record", column], var_name="lead")


@pytest.mark.parametrize("column", ["time_s", "time_ms", "timestamp"])
@pytest.mark.parametrize("shuffled", [False, True])
def test_a_table_with_a_value_a_row_is_arranged_by_its_time(tmp_path, column, shuffled):
    unit = UNITS[column]
    gapped = table(column, unit).drop(index=range(100, 140)).assign(record="b")
    rows = long_form(pd.concat([table(column, unit).assign(record="a"), gapped]), column)
    rows = rows.sample(frac=1, random_state=1) if shuffled else rows
    path = written(tmp_path / "t.csv", rows)
    records = {
        record.id: record for one in find_inputs([path], Layout(FS)).values() for record in [one.read()]
    }
    gap_CL = X_CL.copy()
    gap_CL[:, 100:140] = np.nan
    np.testing.assert_allclose(records["a"].x_CL, X_CL, atol=1e-6)
    np.testing.assert_allclose(records["b"].x_CL, gap_CL, atol=1e-6)
    assert list(reported(records["b"].notes)) == [
        *[f"rows sorted by the column {column}"] * shuffled,
        f"40 samples missing in the column {column}",
    ]
    for wrong in (100, 250, 500):
        with pytest.raises(InputError, match=f"got {wrong} Hz"):
            find_inputs([path], Layout(wrong))


def test_a_lead_without_some_rows_lacks_these_samples(tmp_path):
    rows = long_form(table().assign(record="a"), "time_s")
    gone = (rows["lead"] == "V3") & rows["time_s"].between(1, 1.5)
    [candidate] = find_inputs([written(tmp_path / "t.csv", rows[~gone])], Layout(FS)).values()
    expected_CL = X_CL.copy()
    expected_CL[LEADS.index("V3"), (SECONDS >= 1) & (SECONDS <= 1.5)] = np.nan
    np.testing.assert_allclose(candidate.read().x_CL, expected_CL, atol=1e-6)


def test_a_lead_with_two_values_of_a_time_is_refused(tmp_path):
    rows = long_form(table().assign(record="a"), "time_s")
    path = written(tmp_path / "t.csv", pd.concat([rows, rows.iloc[5:6]]))
    with pytest.raises(InputError, match="lead I has two rows with the same time"):
        find_inputs([path], Layout(FS))


def test_notes_stay_with_their_record_if_another_has_no_order(tmp_path):
    undated = table("timestamp").assign(record="a", timestamp="unknown")
    dated = table("timestamp").drop(index=range(100, 140)).assign(record="b")
    path = written(tmp_path / "t.csv", pd.concat([undated, dated]))
    notes = {
        record.id: reported(record.notes)
        for one in find_inputs([path], Layout(FS)).values()
        for record in [one.read()]
    }
    assert notes["a"] == ()
    assert notes["b"] == ("40 samples missing in the column timestamp",)


def test_two_rows_of_one_time_are_refused(tmp_path):
    path = written(tmp_path / "a.csv", pd.concat([table(), table().iloc[:1]]))
    with pytest.raises(InputError, match="two rows with the same time"):
        read(path)


@pytest.mark.parametrize("times", ["start", "constant"])
def test_a_column_that_gives_no_order_is_passed_over(tmp_path, times):
    rows = table().assign(timestamp="rec 1" if times == "start" else 20240101).drop(columns="time_s")
    np.testing.assert_allclose(read(written(tmp_path / "a.csv", rows)).x_CL, X_CL, atol=1e-6)


@pytest.mark.parametrize(("unit", "per_mv"), [("uV", 1000), ("µV", 1000), ("mV", 1), ("V", 0.001)])
@pytest.mark.parametrize("form", ["{} ({})", "{} [{}]", "{}_{}"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_unit_in_a_heading_is_the_column_s_unit(tmp_path, unit, per_mv, form, encoding):
    names = [form.format(lead, unit) if lead != "V6" else lead for lead in LEADS]
    scale = np.array([per_mv if lead != "V6" else 1 for lead in LEADS])[:, None]
    rows = pd.DataFrame((X_CL * scale).T, columns=names)
    rows.to_csv(tmp_path / "a.csv", index=False, encoding=encoding)
    np.testing.assert_allclose(read(tmp_path / "a.csv").x_CL, X_CL, atol=1e-6)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas_are_read(tmp_path, separator):
    path = tmp_path / "a.csv"
    table().to_csv(path, index=False, sep=separator, decimal=",")
    np.testing.assert_allclose(read(path).x_CL, X_CL, atol=1e-6)
    with pytest.raises(InputError, match="got 500 Hz"):
        read(path, 500)


def test_columns_that_are_not_used_are_named(tmp_path):
    rows = table().assign(RESP=1.0, quality=2)
    for ending in (".csv", ".parquet"):
        assert list(reported(read(written(tmp_path / f"a{ending}", rows)).notes)) == [
            "not used: RESP, quality"
        ]
