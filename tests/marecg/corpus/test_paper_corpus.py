"""The paper's corpus, and a prepared one beside it."""

import re

from tests.made_records import make_record

from marecg.corpus.prepare import prepare
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
        "10338 of the 10344 published records are not here; "
        "quarantined: 1 flat-lead, 1 gain, 1 no-signal-file; "
        "the paper kept 80% by thresholds that it does not give"
    )
    assert rows["records, ptb"].why == (
        "514 of the 516 published records are not here; "
        "the paper kept 81% by thresholds that it does not give"
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
