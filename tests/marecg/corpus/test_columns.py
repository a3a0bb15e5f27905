"""Columns of a corpus behave as the lists that they stand for."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marecg.corpus import columns
from marecg.corpus.columns import BeatColumn, Texts

names = st.lists(st.sampled_from(["georgia", "ptb", "", "ü"]) | st.none(), max_size=20)
peaks = st.lists(st.lists(st.integers(0, 4999), max_size=6), min_size=1, max_size=10)


@given(names, st.booleans())
def test_texts_are_their_list(values, encoded):
    column = pa.chunked_array([pa.array(values[:7], pa.string()), pa.array(values[7:], pa.string())])
    texts = Texts[str | None](column.dictionary_encode() if encoded else column)
    assert texts == values == list(texts)
    assert [texts[place] for place in range(-len(values), len(values))] == values * 2
    assert texts[1:3] == values[1:3]
    assert texts.counts() == {each: values.count(each) for each in values}
    assert texts.among({"ptb", "ü"}).tolist() == [each in {"ptb", "ü"} for each in values]
    with pytest.raises(IndexError):
        texts[len(values)]


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_texts_are_gone_through_whole_however_many_are_objects_at_a_time(more):
    values = [str(number) for number in range(columns.BLOCK_ROWS + more)]
    assert list(Texts(pa.array(values, pa.string()))) == values


def test_texts_of_other_values_differ():
    assert Texts(pa.array(["a", "b"])) != ["a", "c"]
    assert Texts(pa.array(["a", "b"])) != Texts(pa.array(["a"]))


@given(peaks, st.data())
def test_beats_are_the_lists_of_each_record(values, data):
    beats = BeatColumn(pa.array(values, pa.list_(pa.int32())))
    assert [each.tolist() for each in beats] == values
    assert [each.tolist() for each in beats[1:]] == values[1:]
    assert beats[-1].dtype == np.int64
    rows = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=5))
    most = max(map(len, values))
    assert beats.padded(rows).tolist() == [values[row] + [-1] * (most - len(values[row])) for row in rows]
