"""Evaluation records inside a pretraining corpus are found under any name."""

import numpy as np
import pytest
from tests.made_records import make_record
from tests.marecg.told import Told

from ecg_records.readers.identity import identity
from ecg_records.signal.leads import LEADS
from marecg.corpus import audit as module
from marecg.corpus.audit import Audit, Overlap, audit
from marecg.corpus.prepare import prepare
from marecg.errors import CorpusError


def heart(seed: int) -> np.ndarray:
    """Beats at random times on twelve leads, in whole microvolts; every seed is another recording."""
    rng = np.random.default_rng(seed)
    time = np.arange(5000) / 500
    beats = np.cumsum(rng.uniform(0.5, 1.2, 15))
    wave = np.exp(-(((time[:, None] - beats) / 0.03) ** 2)).sum(axis=1)
    return np.round(rng.normal(0, 1, (12, 1)) * wave + rng.normal(0, 0.01, (12, 5000)), 3)


@pytest.fixture
def found(tmp_path) -> Audit:
    """PTB-XL has ids 7 and 8 of patient 1, and 9 (not on disk) too; the corpus has copies and strangers."""
    release, pretraining = tmp_path / "ptbxl", tmp_path / "cinc" / "ptb-xl"
    make_record(release / "records500", "00007_hr", heart(7))
    make_record(release / "records500", "00008_hr", heart(8))
    rows = [f"{n},1.0,50.0,1,{{'NORM': 80.0}},3,records500/{n:05d}_hr" for n in (7, 8, 9)]
    head = "ecg_id,patient_id,age,sex,scp_codes,strat_fold,filename_hr"
    table = [head, *rows, "10,2.0,50.0,1,{},3,records500/10", ""]
    (release / "ptbxl_database.csv").write_text("\n".join(table))
    make_record(pretraining, "HR00007", heart(7), gain=2000, scale="2000/mV")
    make_record(pretraining, "HR00009", heart(9))
    make_record(pretraining, "HR00010", heart(10))
    copy = heart(8) * 1.1 + np.random.default_rng(0).normal(0, 0.01, (12, 5000))
    make_record(tmp_path / "cinc" / "georgia", "E00001", copy)
    make_record(tmp_path / "cinc" / "georgia", "E00002", heart(11))
    prepare([tmp_path / "cinc"], tmp_path / "corpus", jobs=1)
    return audit(tmp_path / "corpus", [release])


def test_records_patients_and_signals_of_the_held_out_set_are_found_under_any_name(found):
    """The same record by its other name and by its signal; its patient; a noisy copy; what is PTB-XL's."""
    first = ("cinc/ptb-xl/HR00007.hea", "ptbxl/records500/00007_hr.hea")
    assert found.shared_ids == found.identical == (first,)
    assert found.shared_patients == ("cinc/ptb-xl/HR00007.hea", "cinc/ptb-xl/HR00009.hea")
    copy = ("cinc/georgia/E00001.hea", "ptbxl/records500/00008_hr.hea")
    assert [pair[:2] for pair in found.similar] == [copy, first]
    assert "cinc/ptb-xl/HR00010.hea" in found.same_dataset, "even where this copy of it lacks the record"
    names = ("georgia/E00001", "ptb-xl/HR00007", "ptb-xl/HR00009", "ptb-xl/HR00010")
    assert found.leaking == tuple(f"cinc/{name}.hea" for name in names), "a stranger does not leak"
    assert found.codes == Overlap(corpus=1, evaluation=1, shared=(), only_in_evaluation=("scp:NORM",))
    assert found.leaves == Overlap(corpus=1, evaluation=1, shared=("NSR",), only_in_evaluation=())


def test_a_copy_is_named_rightly_in_whichever_block_of_the_corpus_it_lies(found, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 2)
    assert audit(tmp_path / "corpus", [tmp_path / "ptbxl"]).similar == found.similar


@pytest.mark.parametrize("gap", [slice(4700, 4810), slice(2000, 2010)])
def test_a_gap_that_prepare_leaves_out_or_bridges_hides_no_record(tmp_path, gap):
    x_CL = heart(3)
    x_CL[2, gap] = np.nan
    make_record(tmp_path / "wfdb" / "georgia", "E00001", x_CL)
    assert prepare([tmp_path / "wfdb"], tmp_path / "corpus", jobs=1).kept == 1
    found = audit(tmp_path / "corpus", [tmp_path / "wfdb"])
    name = "wfdb/georgia/E00001.hea"
    assert (found.evaluation_records, found.identical) == (1, ((name, name),))


def test_an_evaluation_record_that_lacks_a_lead_is_skipped(found, tmp_path):
    """It can't be in the corpus, which has records of twelve leads."""
    make_record(tmp_path / "ptbxl" / "records500", "00009_hr", heart(9)[:11], leads=LEADS[:11])
    assert audit(tmp_path / "corpus", [tmp_path / "ptbxl"]) == found


def test_identities_hold_across_releases():
    assert identity("HR00034", "ptb-xl") == identity("00034", "ptbxl")
    assert identity("A0001", "cpsc_2018") != identity("00001", "ptbxl")


def test_a_folder_without_evaluation_records_is_refused(tmp_path, source):
    prepare([source], tmp_path / "corpus", jobs=1)
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match="no WFDB header"):
        audit(tmp_path / "corpus", [tmp_path / "empty"])


def test_the_records_that_are_compared_are_seen_going_by(tmp_path):
    make_record(tmp_path / "wfdb" / "georgia", "E00001", heart(1))
    prepare([tmp_path / "wfdb"], tmp_path / "corpus", jobs=1)
    progress = Told()
    audit(tmp_path / "corpus", [tmp_path / "wfdb"], progress)
    totals = {(what, total) for what, _, total, _ in progress.seen}
    assert totals == {("evaluation records", 1), ("blocks of 128 corpus records", 1)}


def test_a_fingerprint_is_the_unit_vector_of_the_means_of_twenty_samples_without_each_leads_own():
    d_BCL = np.random.default_rng(0).integers(-900, 900, (3, 12, 4710)).astype(np.int16)
    for d_CL, print_F in zip(d_BCL, module.fingerprints(d_BCL), strict=True):
        slow_CF = d_CL[:, :4700].reshape(12, 235, 20).mean(axis=2)
        slow_F = (slow_CF - slow_CF.mean(axis=1, keepdims=True)).ravel()
        np.testing.assert_allclose(print_F, slow_F / np.linalg.norm(slow_F), atol=1e-6)
    assert not module.fingerprints(np.zeros((1, 12, 4700), np.int16)).any(), "what is flat is like nothing"
