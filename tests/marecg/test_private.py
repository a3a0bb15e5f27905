"""What is about patients can't be read by others of the machine, whatever the umask."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.calls import run
from tests.made_records import make_ecg, make_record

GRAPH = {"ontology.json"}
"""Files of a corpus that are about no patient."""


CASES = [(0o022, False), (0o002, True)]
OTHERS = [(0o022, True), (0o002, False), (0o077, False), (0o077, True)]


@pytest.fixture
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def readable_by_others(folder: Path) -> set[str]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in GRAPH)
    return {str(path.relative_to(folder)) for path in files if path.stat().st_mode & 0o007}


@pytest.mark.parametrize(
    ("umask", "setgid"),
    [*CASES, *(pytest.param(*case, marks=pytest.mark.nightly) for case in OTHERS)],
    indirect=["umask"],
)
def test_corpus_cohort_embeddings_predictions_and_pages_are_private(umask, setgid, tmp_path):
    for number in range(3):
        make_record(tmp_path / "good" / "georgia", f"E{number:05d}", make_ecg(seed=number))
    flat = make_ecg(seed=5)
    flat[:] = 0
    make_record(tmp_path / "flat" / "ptb", "E00009", flat)  # quarantined, so that its name is in the report
    good = tmp_path / "good"
    out = tmp_path / "out"
    out.mkdir(mode=0o2770 if setgid else 0o770)
    if setgid:
        out.chmod(0o2770)
    assert not run("prepare", good, tmp_path / "flat", "--out", out / "corpus", "--jobs", "1")
    assert not run("cohort", out / "corpus", "--where", "not AF", "--out", out / "cohort.csv")
    assert not run("embed", "marecg-small", good, "--out", out / "embeddings.parquet")
    assert not run("predict", "marecg-small-codes", good, "--out", out / "predictions.csv")
    assert not run("report", "marecg-small-codes", good / "georgia" / "E00000", "--out", out / "page.html")
    assert len(list(out.iterdir())) == 5
    assert readable_by_others(out) == set()
