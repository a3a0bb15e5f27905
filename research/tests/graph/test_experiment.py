"""From a base to the figure, at a size that takes seconds."""

from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import torch
from tests.made_records import make_ecg, make_record

from ecg_ontology import Ontology
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.errors import EcgError
from marecg.model.mar_ecg import MarEcg
from marecg.recipes import by_name
from marecg.recipes.overrides import override
from marecg.train.run import train
from marecg_research import perturb
from marecg_research.graph import branches as second
from marecg_research.graph import experiment as whole
from marecg_research.graph import few_records, heads, records
from marecg_research.graph.endpoints import endpoints, leaves_of
from marecg_research.graph.records import Design, Split
from marecg_research.graph.tested import ndcg
from marecg_research.graph.verdict import write_answer

CODES = ("164889003", "426783006", "164909002", "59118001", "429622005", "427084000")
TINY = {
    "test_source": "georgia", "shuffles": 2, "sigmas": (0.5, 1.0), "steps": (2, 3), "random_families": 1
}  # fmt: skip
K = {"kept_draws": 1, "kept_records": (0, 1)}
HEADS = Design(**TINY, seeds=2, regime_seeds=1, floor_shuffles=3, floor_seeds=1, turn_seeds=1, **K)
ARMS = ("none", "real", "edgeless", "shuffle 0", "labels")
BRANCHES = Design(**TINY, seeds=0, regime_seeds=0, branch_steps=2, branch_arms=ARMS)


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
def bases(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> list[Path]:
    """Two runs of C1 that have taken one step."""
    folder = tmp_path_factory.mktemp("bases")
    small = ["model.width=24", "model.heads=2", "model.depth=1", "train.batch_size=4", "train.max_steps=1"]
    for seed in (0, 1):
        config = override(by_name("tiny-c1"), [*small, f"train.seed={seed}"])
        train(config, corpus, folder / f"base-{seed}")
    return [folder / "base-0", folder / "base-1"]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leaf needs two records to be tested, twenty records teach, and a branch's batch is four."""
    monkeypatch.setattr(records, "FEWEST", 20)
    monkeypatch.setattr(whole, "TESTED", 2)
    monkeypatch.setattr(heads, "CHOOSING", 1)
    monkeypatch.setattr(few_records, "ENOUGH", 1)
    monkeypatch.setattr(second, "PATIENT_FOLDS", 2)
    monkeypatch.setattr(second, "STEP_RECORDS", 4)


def experiment(bases: list[Path], corpus: Path, out: Path, design: Design, *arms: str) -> pd.DataFrame:
    """Its scores."""
    design = design.model_copy(update={"branch_arms": arms} if arms else {})
    return whole.experiment(bases, corpus, out, design).scores


def answer(scores: pd.DataFrame, out: Path) -> str:
    """As the command does it."""
    leaves = pd.read_csv(out / "leaves.csv")
    kept = endpoints(scores, leaves)
    kept.to_parquet(out / "scores.parquet")
    kept = pd.read_parquet(out / "scores.parquet")
    return write_answer(kept, {name: leaves_of(name, leaves) for name in kept["regime"].unique()}, out)


@pytest.mark.slow
def test_from_bases_to_the_figure_and_on_where_it_was(corpus, bases, tmp_path):
    first = experiment(bases[:1], corpus, tmp_path, HEADS)
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "scores").iterdir()}
    both = experiment(bases, corpus, tmp_path, HEADS)
    assert {path: path.stat().st_mtime_ns for path in written} == written  # a base may come later
    assert both[both["base"] == 0].reset_index(drop=True).equals(first)
    text = answer(both, tmp_path)
    for part in (
        "### all: 2 bases × 2 seeds",
        "| real − edgeless |",
        "| fixed σ |",
        "p of 3, Holm",
        "### in turn: ",
        "### k records",
    ):
        assert part in text
    assert "nan" not in text
    assert (tmp_path / "forest.svg").read_text().count("<svg") == 1
    with pytest.raises(EcgError, match="other settings"):
        experiment(bases, corpus, tmp_path, Design(**TINY | {"steps": (2,)}))


@pytest.mark.slow
def test_branches_draw_alike_and_are_scored_by_prototypes_and_by_a_probe(
    corpus, bases, tmp_path, monkeypatch
):
    with monkeypatch.context() as broken:
        broken.setattr(second, "_scored", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            experiment(bases, corpus, tmp_path, BRANCHES)
    scores = experiment(bases, corpus, tmp_path, BRANCHES)
    first = {path.parent.name: pd.read_csv(path)["recon"][0] for path in tmp_path.glob("*/*/metrics.csv")}
    assert len(first) == len(bases) * len(ARMS)
    assert len(set(first.values())) == len(bases)  # one start, one batch, one mask in all arms of a base
    texts = answer(scores, tmp_path).split("### ")
    assert [text.partition(":")[0] for text in texts[1:]] == ["branch", "branch, probe"]
    assert "| none − edgeless |" not in texts[1]  # it has no prototypes
    assert "| none − edgeless |" in texts[2]
    assert "nan" not in texts[1] + texts[2]


@pytest.mark.slow
def test_two_branches_of_one_graph_stay_equal(corpus, bases, tmp_path, monkeypatch):
    monkeypatch.setattr(perturb, "flat", lambda real: real)
    experiment(bases[:1], corpus, tmp_path, BRANCHES, "real", "flat", "shuffle 0")
    folders = (next((tmp_path / "branches").glob(f"*-{arm}")) for arm in ("real", "flat", "shuffle-0"))
    real, same, other = (MarEcg.from_pretrained(folder).prototypes for folder in folders)
    assert torch.equal(real, same)
    assert not torch.equal(real, other)


@pytest.mark.slow
def test_what_cannot_be_compared_is_said_before_anything_is_computed(corpus, bases, tmp_path, monkeypatch):
    monkeypatch.setattr(records, "FEWEST", 100)
    with pytest.raises(EcgError, match="has 40 coded records outside georgia"):
        experiment([], corpus, tmp_path, HEADS)
    monkeypatch.setattr(records, "FEWEST", 20)
    with pytest.raises(EcgError, match="no record of nowhere"):
        experiment([], corpus, tmp_path, Design(test_source="nowhere"))
    wider = MarEcg(override(by_name("tiny-c1"), ["model.width=32"]).model).eval()
    wider.save_pretrained(tmp_path / "wider")
    with pytest.raises(EcgError, match="wider: must have the same model config as"):
        experiment([bases[0], tmp_path / "wider"], corpus, tmp_path / "out", HEADS)
    monkeypatch.setattr(whole, "TESTED", 100)
    with pytest.raises(EcgError, match=r"at most 40 training records must have at least 100 of the 18"):
        experiment(bases, corpus, tmp_path / "out", HEADS)
    monkeypatch.setattr(whole, "TESTED", 2)
    monkeypatch.setattr(whole, "signals_sha256", lambda _: "another")
    with pytest.raises(EcgError, match="base-0: was trained on another corpus"):
        experiment(bases, corpus, tmp_path / "out", HEADS)
    assert not (tmp_path / "out").exists()
    assert whole._alike(bases, Corpus.open(corpus), any_base=True)


@pytest.mark.slow
def test_an_arm_whose_graph_reads_other_leaves_is_refused(corpus, bases, tmp_path, monkeypatch):
    draft = Corpus.open(corpus).ontology().draft
    rows = tuple(row for row in draft.mappings if row.code != CODES[0])
    deaf = Ontology(draft.model_copy(update={"mappings": rows}))
    with pytest.raises(EcgError, match="unknown arm 'real graph'"):
        experiment(bases, corpus, tmp_path, BRANCHES, "real graph")
    monkeypatch.setattr(perturb, "flat", lambda real: deaf)
    with pytest.raises(EcgError, match="the graph of flat gives records other leaves"):
        experiment(bases, corpus, tmp_path / "deaf", BRANCHES, "flat")
    assert not list(tmp_path.glob("**/branches"))


def test_regimes_take_codes_away_and_nothing_else(corpus):
    split = Split.of(Corpus.open(corpus), "georgia")
    every, few, coarse, without = (
        split.taught(split.teach, regime, 0, [5]) for regime in ("all", "few", "coarse", "left-out")
    )
    assert (len(every.row_M), len(few.row_M)) == (len(split.teach), len(split.teach) // 10)
    fine_M = coarse.coarse_M < 0
    assert 0 < fine_M.sum() < len(split.teach) == len(fine_M)
    assert (coarse.y_MN[fine_M] == every.y_MN[fine_M]).all()
    assert not coarse.y_MN[~fine_M].any()
    assert not without.y_MN[:, 5].any()
    assert len(without.row_M) == (every.y_MN[:, 5] == 0).sum()


def test_a_leaf_keeps_as_many_records_as_it_should_and_records_of_other_leaves_stay():
    y_MN = np.zeros((7, 4), np.uint8)
    for row, leaves in enumerate(([1], [1], [1, 2], [2], [3], [3, 1], [])):
        y_MN[row, leaves] = 1
    keep_M = few_records.keeping(y_MN, [1, 2], 1, np.arange(7))
    assert keep_M.tolist() == [True, False, False, True, True, False, False]
    assert few_records.keeping(y_MN, [1, 2], 0, np.arange(7)).tolist() == [False] * 4 + [True] + [False] * 2
    both_first = few_records.keeping(y_MN, [1, 2], 1, np.array([2, 0, 1, 3, 4, 5, 6]))
    assert both_first.tolist() == [False, False, True, False, True, False, False]


def test_neighbours_that_share_a_diagnosis_give_a_gain_of_one():
    gain_QM = np.zeros((2, 18), int)
    gain_QM[0, 1], gain_QM[1, 17] = 3, 1
    ideal_Q = np.array([3.0, 1.0])
    space_MK = torch.eye(18)
    space_MK[1] = space_MK[0] + 0.1 * space_MK[1]  # the first query finds its neighbour first
    space_MK[17] = -space_MK[9]  # the second query finds it last
    hierarchy = SimpleNamespace(gain_QM=gain_QM, ideal_Q=ideal_Q)
    assert ndcg(space_MK, hierarchy) == pytest.approx(0.5)  # type: ignore[arg-type]
