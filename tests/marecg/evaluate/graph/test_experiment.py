"""From a base to the figure, at a size that takes seconds."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from tests.marecg.made_records import make_ecg, make_record

from ecg_ontology import Kind, perturb
from marecg.base.errors import EcgError
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.evaluate.graph import experiment as whole
from marecg.evaluate.graph import records
from marecg.evaluate.graph.page import write_answer
from marecg.evaluate.graph.records import Split
from marecg.evaluate.graph.scores import ndcg
from marecg.model.mar_ecg import MarEcg
from marecg.recipes import Config

CODES = ("164889003", "426783006", "164909002", "59118001", "429622005", "427084000")
RUN = {"data": None, "test_source": "georgia", "sigmas": (0.5, 1.0), "marks": (2, 3)}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty coded records of one collection, and eighteen of another that tests."""
    folder = tmp_path_factory.mktemp("graph")
    for number in range(58):
        source, name = ("ningbo", f"JS1{number:04}") if number < 40 else ("georgia", f"E1{number:04}")
        code = CODES[number % len(CODES)]
        make_record(folder / "wfdb" / source, name, make_ecg(seed=number), comments=[f"Dx: {code}"])
    prepare([folder / "wfdb"], folder / "prepared", jobs=1)
    return folder / "prepared"


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory, micro: Config) -> list[Path]:
    """Two encoders that have learnt nothing."""
    folder = tmp_path_factory.mktemp("bases")
    for seed in (0, 1):
        torch.manual_seed(seed)
        MarEcg(micro.model).eval().save_pretrained(folder / f"base-{seed}")
    return [folder / "base-0", folder / "base-1"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leaf needs two records to be tested, and twenty records teach."""
    monkeypatch.setattr(records, "FEWEST", 20)
    monkeypatch.setattr(whole, "TESTED", 2)


def controls(corpus: Path) -> dict:
    real = Corpus.open(corpus).ontology()
    shuffles = {f"shuffle {seed}": perturb.shuffled(real, seed) for seed in range(2)}
    return shuffles | {"flat": perturb.flat(real), "no siblings": perturb.without(real, [Kind.sibling])}


@pytest.mark.usefixtures("small")
def test_from_bases_to_the_figure_and_on_where_it_was(
    corpus: Path, bases: list[Path], tmp_path: Path
) -> None:
    def run(these: list[Path]) -> pd.DataFrame:
        asked = {**RUN, "data": corpus, "seeds": {"all": 2, "left-out": 1, "coarse": 1}}
        return whole.experiment(these, out=tmp_path, controls=controls(corpus), **asked)

    first = run(bases[:1])
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "scores").iterdir()}
    both = run(bases)
    assert {path: path.stat().st_mtime_ns for path in made} == made  # a base may come later
    assert both[both["base"] == 0].reset_index(drop=True).equals(first)
    text = write_answer(both, pd.read_csv(tmp_path / "leaves.csv"), tmp_path)
    assert "### all: 2 bases × 2 seeds" in text
    assert "| real − edgeless |" in text
    assert "| fixed σ |" in text
    assert "nan" not in text
    assert (tmp_path / "forest.svg").read_text().count("<svg") == 1
    with pytest.raises(EcgError, match="other settings"):
        whole.experiment(
            bases, corpus, tmp_path, controls={}, seeds={"all": 1}, test_source="georgia", marks=(2,)
        )


def test_too_few_coded_records_are_said_before_anything_is_computed(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(EcgError, match="has 40 coded records outside georgia"):
        whole.experiment([], corpus, tmp_path, controls={}, seeds={}, test_source="georgia")
    with pytest.raises(EcgError, match="no record of nowhere"):
        whole.experiment([], corpus, tmp_path, controls={}, seeds={}, test_source="nowhere")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("small")
def test_regimes_take_codes_away_and_nothing_else(corpus: Path) -> None:
    split = Split.of(Corpus.open(corpus), "georgia")
    every, few, coarse, without = (
        split.taught(split.teach, regime, 0, [5]) for regime in ("all", "few", "coarse", "left-out")
    )
    assert len(every.row_M) == len(split.teach)
    assert len(few.row_M) == len(split.teach) // 10
    known_M = coarse.root_M < 0
    assert 0 < known_M.sum() < len(split.teach) == len(known_M)
    assert (coarse.y_MN[known_M] == every.y_MN[known_M]).all()
    assert not coarse.y_MN[~known_M].any()
    assert not without.y_MN[:, 5].any()
    assert len(without.row_M) == (every.y_MN[:, 5] == 0).sum()


def test_neighbours_that_share_a_diagnosis_give_a_gain_of_one() -> None:
    gain_QM = np.zeros((2, 18), int)
    gain_QM[0, 1], gain_QM[1, 17] = 3, 1
    ideal_Q = np.array([3.0, 1.0])
    space_MK = torch.eye(18)
    space_MK[1] = space_MK[0] + 0.1 * space_MK[1]  # the first query finds its neighbour first
    space_MK[17] = -space_MK[9]  # the second query finds it last
    hierarchy = SimpleNamespace(gain_QM=gain_QM, ideal_Q=ideal_Q)
    assert ndcg(space_MK, hierarchy) == pytest.approx(0.5)  # type: ignore[arg-type]
