"""Second stage of the experiment: continue the training of the encoder from each base, once per arm.

A base is a trained encoder, and an arm is a graph, or a control such as independent labels. A branch is the
training of an arm from a base.

All arms of a base start with the same weights, and read the same records with the same masks, crops and
augmentations. A branch is scored by its prototypes (regime `branch`), and by a ridge regression on its
features of the test records (regime `branch, probe`).

Shapes: M records, N concepts, D width, F features, W wide readout, K classes, R families (roots).
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ecg_base import replacing
from ecg_ontology import Ontology
from marecg.base.progress import Progress, passing, shown
from marecg.corpus.derived import relabelled, write_subset
from marecg.corpus.prepared import Corpus
from marecg.errors import UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import weights_sha256
from marecg.model.readout import wide_columns
from marecg.train.checkpoints import newest
from marecg.train.run import train
from marecg.train.warm_start import recipe_for
from marecg_research.graph.arms import LABELS, NONE, GraphArm, arms
from marecg_research.graph.heads import ALPHAS, closed
from marecg_research.graph.records import Design, Split, read_off
from marecg_research.graph.tested import Row, Tested

BRANCH, PROBE = "branch", "branch, probe"
"""Names of the two ways to score a branch, in the column `regime` of the scores."""
CODED = 0.8
"""Share of coded records among the training records. The rest are the test records, without their codes."""
STEP_RECORDS, LR = 16, 1e-3
GSCL_WEIGHT = 2.0
"""Weight of GSCL, as in the recipe `tiny`.

In so few steps, GSCL must have more weight than reconstruction.
"""
LABELS_WEIGHT = 0.4
"""Weight of independent labels.

At this weight, the gradient of the labels on H is as large as the gradient of GSCL. At equal weights, it is
4.9 times as large (mean over ten batches).
"""
POINTED = 0.01
"""σ that is so small that a record's target contains only its own leaves."""
PATIENT_FOLDS = 8
"""Number of folds of patients for the ridge regression."""


class Branch(NamedTuple):
    """Branch of the training: name, arm (None without GSCL), and folder of the corpus."""

    name: str
    arm: GraphArm | None
    data: Path


def planned(split: Split, design: Design, controls: Mapping[str, Ontology], out: Path) -> list[Branch]:
    """Return the branches of a base, each with a corpus. The corpora differ in the graph, not in the signals.

    Raises `UsageError` if an arm is unknown, or if its graph changes the leaves of records. Such a branch
    would be trained on other records than the other branches.
    """
    onto = split.corpus.ontology()
    of_name = {arm.name: arm for arm in arms(onto, controls, [design.branch_sigma])}
    names = [NONE, LABELS, *of_name]
    if unknown := [name for name in design.branch_arms if name not in names]:
        raise UsageError(f"unknown arm {unknown[0]!r}", remedy=f"Choose from {', '.join(names)}")
    folder = out / "corpora" / "real"
    if not folder.exists():
        rows = np.sort(np.concatenate([split.teach, split.test]))
        write_subset(split.corpus, rows.tolist(), folder, "what teaches, and what tests")
    real = Corpus.open(folder)
    branches = []
    for name in design.branch_arms:
        arm, corpus = of_name.get(name), real
        if arm is not None and arm.graph.bundle_sha256 != onto.bundle_sha256:
            corpus = relabelled(real, arm.graph, folder.with_name(_stem(name)))
        if not np.array_equal(corpus.y, real.y):
            problem = f"the graph of {name} must give records the same leaves as the real graph"
            raise UsageError(problem, remedy="Give a control that changes only edges")
        branches.append(Branch(name, arm, corpus.folder))
    return branches


def trained_branches(
    bases: Sequence[Path],
    planned: Sequence[Branch],
    split: Split,
    tested: Tested,
    out: Path,
    steps: int,
    progress: Progress = shown,
) -> pd.DataFrame:
    """Train and score each branch of each base. Existing scores are reused."""
    shas = [weights_sha256(MarEcg.from_pretrained(base))[:12] for base in bases]
    plan = [(branch, number) for branch in planned for number in range(len(bases))]
    frames = []
    for branch, number in passing(plan, "branches", progress):
        base = bases[number]
        stem = f"{shas[number]}-branch{steps}-{_stem(branch.name)}"
        path = out / "scores" / f"{stem}.parquet"
        if not path.is_file():
            config = recipe_for(base, None, _changes(branch, base, steps, split.test_source))
            run = train(config, branch.data, out / "branches" / stem, start=base, progress=progress).folder
            rows = _scored(branch, run, split, tested, out / "features", progress)
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as temporary:
                pd.DataFrame(rows).assign(seed=0, step=steps).to_parquet(temporary)
        frames.append(pd.read_parquet(path).assign(base=number))
    return pd.concat(frames).sort_values("regime", kind="stable", ignore_index=True)


def _stem(name: str) -> str:
    return name.replace(" ", "-")


def _changes(branch: Branch, base: Path, steps: int, test_source: str) -> list[str]:
    """Return the changes from the base's recipe to the branch's recipe. The changes of the arm come last."""
    changes = [
        f"train.max_steps={steps}",
        f"train.checkpoint_every={max(1, steps // 3)}",
        "train.seed=0",
        f"train.batch_size={STEP_RECORDS}",
        f"train.global_batch_size={STEP_RECORDS}",
        f"train.lr={LR}",
        "train.average=0.98",
        "clean.supervised=true",
        f'sampling.without_codes=["{test_source}"]',
        f'sampling.shares={{"{test_source}": {1 - CODED:g}}}',
    ]
    arm = branch.arm
    if arm is not None:
        return [
            *changes,
            f"gscl.weight={GSCL_WEIGHT}",
            f"gscl.node_width={recipe_for(base).model.concept_width}",
            f"gscl.sigma={POINTED if math.isnan(arm.sigma) else arm.sigma}",
            f"gscl.a_hat={'graph' if arm.propagates else 'identity'}",
        ]
    return [*changes, f"labels.weight={LABELS_WEIGHT}"] if branch.name == LABELS else changes


def _scored(
    branch: Branch, run: Path, split: Split, tested: Tested, folder_of_features: Path, progress: Progress
) -> list[Row]:
    name, arm, _ = branch
    model = MarEcg.from_pretrained(run)
    parts = [split.held_out, split.test]  # one context of each record, as in the training of a branch
    held_MW, test_MW = split.wide(model, parts, folder_of_features, model.config.context, progress)
    head: Row = {"arm": name, "sigma": arm.sigma if arm else math.nan}
    columns = wide_columns(model.config)
    held_MD, test_MD = (torch.from_numpy(x_MW[:, columns["rhythm"]]).float() for x_MW in (held_MW, test_MW))
    rows: list[Row] = []
    if name == LABELS:
        logits_MN = _leaf_logits(run, test_MD, model.ontology)
        space_MN = torch.from_numpy(logits_MN)
        rows += tested.rows({**head, "regime": BRANCH}, logits_MN, best_of(logits_MN, tested), space_MN)
    elif arm is not None:
        held_MN, test_MN = (model.concept_logits(h_MD).detach() for h_MD in (held_MD, test_MD))
        log_q_MN = log_softmax(test_MN.double().numpy(), axis=1)
        family_MR = np.logaddexp.reduce(_members_only(log_q_MN, tested), axis=2)
        rows += tested.rows(
            {**head, "regime": BRANCH}, log_q_MN, family_MR, model.to_concepts(test_MD).detach()
        )
        target_MN, held_target_MN = (
            torch.from_numpy(arm.targets(split.corpus.y[part], np.full(len(part), -1)))
            for part in (split.teach, split.held_out)
        )
        share = closed(held_MN.log_softmax(-1)[None], held_target_MN[None], target_MN.mean(0)[None])
        rows.append({**head, "regime": BRANCH, "metric": "closed", "of": "", "value": float(share)})
    x_MF = read_off(test_MW, model.config)
    score_MN = _ridge(x_MF, tested.y_MN, [split.corpus.patients[row] or str(row) for row in split.test])
    rows += tested.rows(
        {**head, "regime": PROBE}, score_MN, best_of(score_MN, tested), torch.from_numpy(x_MF)
    )
    return rows


def best_of(score_MN: NDArray[np.float64], tested: Tested) -> NDArray[np.float64]:
    """Return each family's score, [M, R]: the largest score of its members."""
    return np.asarray(_members_only(score_MN, tested).max(2))


def _members_only(score_MN: NDArray[np.float64], tested: Tested) -> NDArray[np.float64]:
    """Return the scores of each family's members, [M, R, N]. Scores of other concepts are minus infinity."""
    return np.where(tested.member_RN[None] > 0, score_MN[:, None], -np.inf)


def _leaf_logits(run: Path, rhythm_MD: torch.Tensor, onto: Ontology) -> NDArray[np.float64]:
    """Return the concepts' logits [M, N] by the averaged linear map of `labels`.

    The map is read from the checkpoint, because it isn't part of the model.
    """
    checkpoint = newest(run)
    assert checkpoint is not None
    state = torch.load(checkpoint, weights_only=True)["state_dict"]
    weight_KD, bias_K = (
        state[f"average.module.objectives.labels.to_leaves.{part}"] for part in ("weight", "bias")
    )
    logits_MN = np.zeros((len(rhythm_MD), len(onto)))
    leaves = [node.index for node in onto.nodes if not node.root]
    logits_MN[:, leaves] = (rhythm_MD @ weight_KD.T + bias_K).double().numpy()
    return logits_MN


def _ridge(
    x_MF: NDArray[np.float32], y_MN: NDArray[np.uint8], patients: Sequence[str]
) -> NDArray[np.float64]:
    """Return the cross-validated scores of a ridge regression for each concept, [M, N]."""
    ridge = make_pipeline(StandardScaler(), RidgeCV(ALPHAS, alpha_per_target=True))
    folds = GroupKFold(PATIENT_FOLDS)
    return np.asarray(cross_val_predict(ridge, x_MF, y_MN.astype(float), groups=patients, cv=folds))
