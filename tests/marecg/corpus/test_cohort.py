"""Cohorts: the records with some findings and without others."""

import numpy as np
import pytest

from ecg_ontology import UnknownConceptError
from marecg.base.errors import UsageError
from marecg.corpus.cohort import as_csv, cohort
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus

AF, ANT_MI, AMI, NSR = "164889003", "54329005", "57054005", "426783006"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, write_record, ecg) -> Corpus:  # type: ignore[no-untyped-def]
    """Anterior infarction, an infarction with fibrillation, fibrillation, sinus rhythm."""
    folder = tmp_path_factory.mktemp("cohort")
    codes = {"a": ANT_MI, "b": f"{AMI},{AF}", "c": AF, "d": NSR}
    for seed, (name, dx) in enumerate(codes.items()):
        write_record(folder / "clinic", name, ecg(seed=seed), comments=["Age: 61", f"Dx: {dx}"])
    prepare([folder / "clinic"], folder / "corpus", jobs=1)
    return Corpus.open(folder / "corpus")


@pytest.mark.parametrize(
    ("concepts", "without", "with_subtypes", "found"),
    [
        (["AF"], [], False, ["b", "c"]),
        (["atrial fibrillation"], [], False, ["b", "c"]),
        (["AMI"], [], False, ["a", "b"]),
        (["OMI"], [], False, []),
        (["OMI"], [], True, ["a"]),
        (["AMI", "AF"], [], True, ["b"]),
        (["AMI"], ["AF"], True, ["a"]),
        ([], ["OMI"], True, ["b", "c", "d"]),
        (["Ischemic"], [], True, ["a", "b"]),
    ],
)
def test_records_have_all_that_is_asked_and_nothing_that_is_not_wanted(
    corpus: Corpus, concepts: list[str], without: list[str], with_subtypes: bool, found: list[str]
) -> None:
    table = cohort(corpus, concepts, without=without, with_subtypes=with_subtypes)
    assert table["id"].to_pylist() == found
    assert [corpus.ids[row] for row in table["row"].to_pylist()] == found
    leaves = {node.abbr: node.index for node in corpus.ontology().nodes}
    for row, names in zip(table["row"].to_pylist(), table["leaves"].to_pylist(), strict=True):
        assert np.flatnonzero(corpus.y[row]).tolist() == [leaves[name] for name in names]


def test_a_cohort_says_where_its_records_are(corpus: Corpus) -> None:
    lines = as_csv(cohort(corpus, ["AF"])).splitlines()
    assert lines[0] == "row,name,id,source,patient,age,sex,acquired,codes,root,path,fs,length,leaves"
    cells = lines[1].split(",")
    assert cells[:-1] == f"1,clinic/b,b,clinic,,61.0,,,{AMI} {AF},clinic,b.hea,500.0,5000".split(",")
    assert set(cells[-1].split(" ")) >= {"AMI", "AF"}


def test_a_family_or_nobody_is_no_cohort(corpus: Corpus) -> None:
    with pytest.raises(UsageError, match=r"Ischemic is a family, .* Add --with-subtypes, or name one of"):
        cohort(corpus, ["Ischemic"])
    with pytest.raises(UsageError, match="no concept is named"):
        cohort(corpus, [])
    with pytest.raises(UnknownConceptError, match="no one concept is called 'Paket'"):
        cohort(corpus, ["AF"], without=["Paket"])
