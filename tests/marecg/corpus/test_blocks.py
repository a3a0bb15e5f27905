"""Records are prepared, measured and compared in blocks, which show in no result."""

import numpy as np
import pytest
from tests.made_records import make_record
from tests.marecg.corpus.test_audit import heart

from ecg_records.measurements.intervals import measure
from ecg_records.signal.leads import LEADS
from marecg.corpus.audit import audit
from marecg.corpus.intervals import intervals
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus

ROWS = (0, 31, 32, 63, 64, 127, 128, 129)
"""The first and last records of blocks of 32, 64 and 128."""


@pytest.mark.slow
@pytest.mark.usefixtures("forked_workers")
def test_each_record_is_itself_in_whichever_block_it_lies(tmp_path):
    names = [f"E{row:05d}" for row in range(130)]
    for row, name in enumerate(names):
        make_record(tmp_path / "wfdb" / "georgia", name, heart(row))
    assert prepare([tmp_path / "wfdb"], tmp_path / "corpus", jobs=1).kept == 130
    corpus = Corpus.open(tmp_path / "corpus")
    assert list(corpus.ids) == names
    table = intervals(corpus)
    for row in ROWS:
        x_CL = corpus.signals([row])[0]
        np.testing.assert_allclose(x_CL, heart(row)[:, :4700], atol=2e-3)
        assert table["qrs"][row].as_py() == measure(x_CL, 500, LEADS).qrs
        make_record(tmp_path / "few" / "georgia", names[row], heart(row))
    headers = tuple((f"wfdb/georgia/{names[row]}.hea", f"few/georgia/{names[row]}.hea") for row in ROWS)
    found = audit(tmp_path / "corpus", [tmp_path / "few"])
    assert found.identical == headers
    assert tuple(pair[:2] for pair in found.similar) == headers
