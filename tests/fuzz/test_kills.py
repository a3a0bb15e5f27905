"""A few random kills; `python -m tests.fuzz.kills --count 40` does more."""

from tests.fuzz.kills import attack

import marecg.corpus.prepare  # what the killed processes need, loaded once
import marecg.train.run
import marecg.use.embed_records  # noqa: F401


def test_what_was_killed_and_begun_again_leaves_the_bytes_of_what_was_not(tmp_path):
    seen = attack(tmp_path, count=2, seed=5)
    assert set(seen) == {"prepare", "train", "embed"}
