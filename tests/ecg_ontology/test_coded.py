"""Codes as integers: the same labels as from strings, and no ids that mean nothing."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecg_ontology
from ecg_base import UsageError
from ecg_ontology import CodedRecords

ONTO = ecg_ontology.load()
CODES = st.sampled_from([*ONTO.codes, "STE", "251238007", ""])
RECORDS = st.lists(st.lists(CODES, max_size=6), max_size=12)


@given(RECORDS)
def test_factorised_records_hold_the_codes_in_their_order(records):
    coded = CodedRecords.of(records)
    parts = np.split(coded.ids, coded.offsets[1:-1]) if records else []
    assert [[coded.vocabulary[i] for i in ids] for ids in parts] == records
    assert len(coded) == len(records)
    assert len(set(coded.vocabulary)) == len(coded.vocabulary)


@given(RECORDS)
def test_y_is_the_union_of_the_codes_leaves_record_by_record(records):
    expected = np.zeros((len(records), len(ONTO)), np.uint8)
    for row, codes in zip(expected, records, strict=True):
        for code in codes:
            row[list(ONTO.route(code).leaves)] = 1
    np.testing.assert_array_equal(ONTO.leaf_multi_hot(records), expected)
    np.testing.assert_array_equal(ONTO.leaf_multi_hot(CodedRecords.of(records)), expected)


@given(RECORDS)
def test_an_arrow_column_is_labelled_without_making_strings_of_every_row(records):
    column = pa.array(records, pa.list_(pa.dictionary(pa.int32(), pa.string())))
    words = column.flatten()
    vocabulary = tuple(words.dictionary.to_pylist())
    coded = CodedRecords(vocabulary, words.indices.to_numpy(), column.offsets.to_numpy())
    np.testing.assert_array_equal(ONTO.leaf_multi_hot(coded), ONTO.leaf_multi_hot(records))


@pytest.mark.parametrize(
    ("ids", "offsets", "message"),
    [
        ([0, 1], [0, 2], "ids must be from 0 to 0, got 0 to 1"),
        ([-1], [0, 1], "ids must be from 0 to 0, got -1 to -1"),
        ([0, 0], [0, 1], "offsets must rise from 0 to the number of ids, which is 2"),
        ([0, 0], [0, 2, 1, 2], "offsets must rise from 0 to the number of ids"),
        ([], [], "offsets must rise from 0 to the number of ids, which is 0"),
    ],
)
def test_ids_and_offsets_that_mean_nothing_are_refused(ids, offsets, message):
    with pytest.raises(UsageError, match=message):
        CodedRecords(("164889003",), np.array(ids, int), np.array(offsets, int))


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (["164889003", "426783006"], "record 0 must be a list of codes, got '164889003'"),
        ([["164889003"], "426783006"], "record 1 must be a list of codes, got '426783006'"),
        ([[], ""], "record 1 must be a list of codes, got ''"),
        (np.array(["164889003"]), "record 0 must be a list of codes, got .*164889003.*"),
        ("164889003", "records must be a list, got '164889003'"),
        ([164889003], "record 0 must be a list of codes, got 164889003"),
        ([["164889003"], None], "record 1 must be a list of codes, got None"),
        ([[None]], "a code must be text or an integer, got None"),
        ([[164889003.0]], "a code must be text or an integer, got 164889003.0"),
        ([[float("nan")]], "a code must be text or an integer, got nan"),
        ([[True]], "a code must be text or an integer, got True"),
        ([[["164889003"]]], "a code must be text"),
        ([b"164889003"], "must be a list of codes"),
        (5, "records must be a list, got '5'"),
    ],
)
def test_what_is_no_list_of_lists_of_codes_is_refused_and_named(records, message):
    with pytest.raises(UsageError, match=message):
        ONTO.leaf_multi_hot(records)


@pytest.mark.parametrize("number", [int, np.int64, np.uint32])
def test_a_code_may_be_a_whole_number(number):
    assert ONTO.route(number(164889003)) == ONTO.route("164889003")
    y = ONTO.leaf_multi_hot([[number(164889003)], [], ["164889003", number(164889003), "426783006"]])
    assert [row.nonzero()[0].tolist() for row in y] == [[5], [], [5, 34]]
    assert CodedRecords.of([[number(164889003), "164889003"]]).vocabulary == ("164889003",)


def test_a_whole_number_of_128_bits_is_still_a_code():
    longest = (1 << 128) - 1
    assert ONTO.route(longest) == ONTO.route(str(longest))


@pytest.mark.parametrize("code", [164889003.0, None, True, b"164889003"])
def test_another_value_is_no_code(code):
    with pytest.raises(UsageError, match="a code must be text"):
        ONTO.route(code)
