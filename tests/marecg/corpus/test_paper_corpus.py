"""The paper's corpus, and a prepared one beside it."""

import re

import neurokit2 as nk
import numpy as np
import pytest
from tests.made_records import make_ecg, make_record

from ecg_records.signal.leads import LEADS
from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.corpus.statistics import COLLECTIONS, HISTOGRAM, PAPER_RECORDS, reconcile, statistics


def test_the_papers_own_numbers_add_up():
    assert sum(PAPER_RECORDS.values()) == sum(HISTOGRAM.values()) == 40_721


def test_only_the_papers_sources_are_taken_and_every_difference_is_explained(source, tmp_path):
    make_record(source / "ptb-xl", "HR00001")
    report = prepare([source], tmp_path / "corpus", only=COLLECTIONS, jobs=1)
    assert set(report.sources) == {"georgia", "ptb"}, "PTB-XL is held out"
    rows = {row.what: row for row in reconcile(statistics(tmp_path / "corpus"))}
    georgia = rows["records, georgia"]
    assert (georgia.paper, georgia.found) == (8296, 3)
    assert georgia.why == (
        "10338 of the 10344 published records are missing; "
        "quarantined: 1 flat-lead, 1 gain, 1 no-signal-file; "
        "the paper kept 80% of the published records, by thresholds that it doesn't state"
    )
    assert rows["records, ptb"].why == (
        "514 of the 516 published records are missing; "
        "the paper kept 81% of the published records, by thresholds that it doesn't state"
    ), "nothing was quarantined, and nothing is said of it"
    assert (rows["records, ningbo"].found, rows["records, total"].found) == (0, 5)
    assert rows["records with 1 code"].found == 5


def test_the_histograms_open_class_takes_seven_to_twelve_codes(tmp_path):
    for name, codes in (("E1", 7), ("E2", 12), ("E3", 13), ("E4", 0)):
        dx = ",".join(str(10**6 + n) for n in range(codes))
        make_record(tmp_path / "georgia", name, comments=[f"Dx: {dx}"])
    prepare([tmp_path / "georgia"], tmp_path / "corpus", jobs=1)
    rows = {row.what: row.found for row in reconcile(statistics(tmp_path / "corpus"))}
    counts = {what: n for what, n in rows.items() if re.fullmatch(r"records with .* codes", what) and n}
    assert counts == {"records with 7–12 codes": 2, "records with 0 codes": 1, "records with 13 codes": 1}


@pytest.mark.parametrize("shard", [2048, 2])
def test_corpus_paper_leaves_out_damaged_leads_and_duplicates_and_takes_neurokits_peaks(tmp_path, shard):
    """The corpus of §Pretraining Corpus and §Signal preprocessing."""
    folder = tmp_path / "georgia"
    x_CL = make_ecg(10)
    off = x_CL.copy()
    off[5] = 0
    for name, signals in (("E00001", x_CL), ("E00002", off), ("E00003", x_CL), ("E00004", 0.8 * x_CL)):
        make_record(folder, name, signals)
    out, config = tmp_path / "corpus", CorpusConfig(corpus="paper", shard=shard)
    report = prepare([folder], out, config, jobs=1)
    assert report.quarantined == {"duplicate": 1, "flat-lead": 1}
    (twin,) = [record for record in report.records if record.reason == "duplicate"]
    assert (twin.path, twin.message) == ("E00003.hea", "has the same signal as georgia/E00001.hea")
    corpus = Corpus.open(out)
    assert len(corpus) == report.kept == 2
    for number in range(2):
        lead_i = corpus.signals([number])[0, LEADS.index("I")].astype(np.float64)
        clean = nk.ecg_clean(lead_i, sampling_rate=500, method="pantompkins1985")
        peaks = nk.ecg_findpeaks(clean, sampling_rate=500, method="pantompkins1985")["ECG_R_Peaks"]
        assert corpus.rpeaks[number].tolist() == peaks.tolist()
    default = prepare([folder], tmp_path / "default", jobs=1)
    assert default.kept == 4, "by default, nothing changes"


def test_corpus_paper_takes_no_setting_of_mending():
    with pytest.raises(ValueError, match="hidden_limit must be omitted with corpus=paper"):
        CorpusConfig(corpus="paper", hidden_limit=2)
