"""What is packed as a whole is unpacked once, whatever comes of it."""

import numpy as np
import pytest

from marecg.read.lazy_array import Unpacked


def test_a_damaged_array_is_not_unpacked_again_for_each_of_its_records():
    begun = []

    def pieces():
        begun.append(1)
        yield b"\0" * 4
        raise ValueError("the stream is damaged")

    packed = Unpacked((4, 12), np.dtype("<f4"), pieces)
    for row in range(3):
        with pytest.raises(ValueError, match="the stream is damaged"):
            packed[row : row + 1,]
    assert len(begun) == 1
