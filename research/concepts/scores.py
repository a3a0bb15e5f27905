"""Compare concept scores from ridge regression on codes with scores from a model's prototypes (plan.md).

    python -m research.concepts.scores PTBXL CORPUS FEATURES OUT

FEATURES is the folder that `research.graph.prior.features` wrote. An arm is a way to compute concept scores.
A leaf is a finding of the concept graph. Teaching records are the records whose codes an arm is fitted on.

Shapes: M records, T teaching records, F features, V beat readout, N concepts, K classes.
"""

import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from research.graph.prior.run import PTBXL, READ
from scipy.special import log_softmax, logsumexp

from ecg_records.readers.datasets import ptbxl
from marecg.corpus import index, trained_on
from marecg.corpus.prepared import Corpus
from marecg.evaluate.scores.metrics import RELIABLE_COUNT, class_auc
from marecg.evaluate.tasks.ptbxl import CLASS_OF
from marecg.evaluate.tasks.task import zeroshot_concepts
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import folder_of
from marecg.model.readout import part_weights, wide_columns

MODEL = "marecg-small"
ALPHAS = np.logspace(0, 6, 13)
STORED = ("prototypes", "ridge, beats", "mixture")
ABOUT = ("classes", "y", "labelled")
LEAST = 1e-3
"""Minimum share of a concept, which keeps logarithms finite."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Records:
    """Records of the experiment, by their row in the corpus.

    Attributes:
        corpus: the corpus.
        codes: codes of each record.
        teach: coded records that the model was trained on.
        every: all coded records outside PTB-XL.
        test: records of PTB-XL.
        y_MN: leaves of each record. The column of a root is 1 if any leaf of its family is.
        family_N: root of each concept.
    """

    corpus: Corpus
    codes: Sequence[Sequence[str]]
    teach: NDArray[np.int64]
    every: NDArray[np.int64]
    test: NDArray[np.int64]
    y_MN: Floats
    family_N: NDArray[np.int64]

    @classmethod
    def of(cls, corpus: Corpus) -> "Records":
        """Split the corpus into teaching records and test records."""
        table = index.of(corpus.folder, ["codes", "signal_hash"])
        seen = trained_on.read(folder_of(MODEL))
        assert seen is not None
        seen_M = np.array([one in seen.hashes for one in table["signal_hash"].to_pylist()])
        ptbxl_M = np.array([corpus.sources[row] == PTBXL for row in range(len(corpus))])
        coded_M = (corpus.primary >= 0) & ~ptbxl_M
        onto = corpus.ontology()
        family_N = np.array(onto.families)
        y_MN = corpus.y.astype(float)
        for root in onto.roots:
            y_MN[:, root] = corpus.y[:, family_N == root].any(1)
        rows = [np.flatnonzero(mask_M) for mask_M in (coded_M & seen_M, coded_M, ptbxl_M)]
        return cls(corpus, table["codes"].to_pylist(), *rows, y_MN, family_N)

    @property
    def untaught(self) -> set[int]:
        """Return the leaves that no teaching record has."""
        onto = self.corpus.ontology()
        bears_N = self.corpus.y[self.teach].any(0)
        return {n for n in range(len(onto)) if n not in onto.roots and not bears_N[n]}


def standardised(x_MF: NDArray[np.float32], teach: NDArray[np.int64]) -> Floats:
    """Return features standardised on the teaching records."""
    wide_MF = x_MF.astype(np.float64)
    return (wide_MF - wide_MF[teach].mean(0)) / (wide_MF[teach].std(0) + 1e-6)


def ridge(x_MF: Floats, y_TN: Floats, teach: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return ridge scores of all records, [M, N], and leave-one-out scores of the teaching records, [T, N].

    Each concept has the penalty with the least squared leave-one-out error.
    """
    x_TF = x_MF[teach]
    mean_F, mean_N = x_TF.mean(0), y_TN.mean(0)
    value_T, vector_TT = np.linalg.eigh((x_TF - mean_F) @ (x_TF - mean_F).T)
    value_T = value_T.clip(0)
    along_TN = vector_TT.T @ (y_TN - mean_N)
    best_N = np.full(y_TN.shape[1], np.inf)
    out_TN, dual_TN = np.zeros_like(y_TN), np.zeros_like(y_TN)
    for alpha in ALPHAS:
        keep_T = value_T / (value_T + alpha)
        fitted_TN = mean_N + vector_TT @ (keep_T[:, None] * along_TN)
        lever_T = 1 / len(teach) + (vector_TT**2) @ keep_T
        left_out_TN = y_TN - (y_TN - fitted_TN) / (1 - lever_T)[:, None]
        error_N = ((y_TN - left_out_TN) ** 2).mean(0)
        better_N = error_N < best_N
        best_N[better_N] = error_N[better_N]
        out_TN[:, better_N] = left_out_TN[:, better_N]
        dual_TN[:, better_N] = (vector_TT @ (along_TN / (value_T + alpha)[:, None]))[:, better_N]
    return mean_N + (x_MF - mean_F) @ ((x_TF - mean_F).T @ dual_TN), out_TN


def all_arms(records: Records, features: Path) -> dict[str, Floats]:
    """Return the scores of the concepts by arm, [M, N]."""
    model = MarEcg.from_pretrained(MODEL)
    columns = wide_columns(model.config, "beats")
    weight_V = part_weights(model.config, "beats")
    teach, every, y_MN = records.teach, records.every, records.y_MN
    x_MV = np.load(features / f"{MODEL}.npy")
    with torch.no_grad():
        rhythm_MD = torch.from_numpy(x_MV[:, columns["rhythm"]])
        logits_MN = model.concept_logits(rhythm_MD).double().numpy()
        projected_MK = model.to_concepts(rhythm_MD).numpy()
    readouts = {
        "h_rhythm": standardised(x_MV[:, columns["rhythm"]], teach),
        "W_sca h_rhythm": standardised(projected_MK, teach),
        "348 values": standardised(np.concatenate([x_MV[:, columns[part]] for part in READ], 1), teach),
        "beats": standardised(x_MV, teach) * weight_V,
    }
    log_q_MN = log_softmax(logits_MN, axis=1)
    arms = {"prototypes": np.exp(log_q_MN), "prototypes, cosine": logits_MN}
    for name, x_MF in readouts.items():
        arms[f"ridge, {name}"], left_out_TN = ridge(x_MF, y_MN[teach], teach)
    arms["ridge, beats, all records"], _ = ridge(standardised(x_MV, every) * weight_V, y_MN[every], every)
    for part, place in columns.items():
        arms[f"ridge, part {part}"], _ = ridge(standardised(x_MV[:, place], teach), y_MN[teach], teach)
    for path in sorted(features.glob("random-*.npy")):
        arms[path.stem], _ = ridge(standardised(np.load(path), teach) * weight_V, y_MN[teach], teach)
    if (features / "minirocket.npy").exists():
        x_MF = standardised(np.load(features / "minirocket.npy"), teach)
        arms["minirocket"], _ = ridge(x_MF, y_MN[teach], teach)
    z_MN = (log_q_MN - log_q_MN[teach].mean(0)) / (log_q_MN[teach].std(0) + 1e-9)
    ridge_MN = (arms["ridge, beats"] - left_out_TN.mean(0)) / (left_out_TN.std(0) + 1e-9)
    arms["mixture"] = (z_MN + ridge_MN) / 2
    arms["mixture + family"] = arms["mixture"] + ridge_MN[:, records.family_N] / 4
    return arms


def class_scores(score_MN: Floats, asked: Mapping[str, list[int]], records: Records) -> Floats:
    """Return the log of each class's summed shares, [M, K].

    If no teaching record has any of the class's leaves, the share of their family is used.

    Args:
        score_MN: shares of the concepts.
        asked: concepts of each class, by the class's name.
        records: records of the experiment.
    """
    columns = []
    for places in asked.values():
        taught = [place for place in places if place not in records.untaught]
        used = taught or [int(records.family_N[places[0]])]
        columns.append(logsumexp(np.log(score_MN[:, used].clip(LEAST)), axis=1))
    return np.stack(columns, 1)


def of_task(
    task: str, records: Records, arms: Mapping[str, Floats], root: Path
) -> dict[str, NDArray[np.generic]]:
    """Return a task's classes, labels, and scores by arm of the test records."""
    onto, test = records.corpus.ontology(), records.test
    number = {node.abbr: node.index for node in onto.nodes}
    class_of = {
        f"scp:{one.name}": name.strip("_")
        for one in ptbxl.statements(root).values()
        if (name := CLASS_OF[task](one))
    }
    has = [{class_of[code] for code in records.codes[row] if code in class_of} for row in test]
    concepts = zeroshot_concepts(task)
    asked = {
        name: [number[one] for one in concepts[name]]
        for name in sorted({*class_of.values()})
        if concepts.get(name)
    }
    share_MN = arms["prototypes"].copy()
    for root_index in onto.roots:
        share_MN[:, root_index] = arms["prototypes"][:, records.family_N == root_index].sum(1)
    scores = {"prototypes": class_scores(share_MN, asked, records)}
    for name, score_MN in arms.items():
        if name in ("ridge, 348 values", "ridge, beats", "minirocket") or name.startswith("random"):
            scores[name] = class_scores(score_MN, asked, records)
    both = [scores[name] for name in ("prototypes", "ridge, beats")]
    z_MK = [(one - one[records.teach].mean(0)) / one[records.teach].std(0) for one in both]
    scores["mixture"] = (z_MK[0] + z_MK[1]) / 2
    y_MK = np.array([[name in names for name in asked] for names in has])
    return {
        f"{task}/classes": np.array(list(asked)),
        f"{task}/y": np.packbits(y_MK, axis=1),
        f"{task}/labelled": np.packbits([bool(names) for names in has]),
        **{f"{task}/{name}": score_MK[test].astype(np.float16) for name, score_MK in scores.items()},
    }


def main(ptbxl_folder: str, corpus_folder: str, features: str, out: str) -> None:
    """Write the scores of the arms in `STORED`, and each arm's AUC of each finding."""
    records = Records.of(Corpus.open(corpus_folder))
    corpus, test, root = records.corpus, records.test, Path(ptbxl_folder)
    onto = corpus.ontology()
    with (root / ptbxl.DATABASE).open(newline="", encoding="utf-8") as file:
        fold_of = {int(row["ecg_id"]): int(row["strat_fold"]) for row in csv.DictReader(file)}
    fold_M = np.array([fold_of[int(corpus.ids[row])] for row in test], np.int8)
    arms = all_arms(records, Path(features))
    y_MN = corpus.y[test]
    judged = [
        n
        for n in range(len(onto))
        if n not in onto.roots and n not in records.untaught and y_MN[:, n].sum(dtype=int) >= RELIABLE_COUNT
    ]
    kept: dict[str, NDArray[np.generic]] = {
        "findings": np.array([onto.nodes[n].abbr for n in judged]),
        "taught": corpus.y[records.teach][:, judged].sum(0, dtype=np.int64),
        "y": np.packbits(y_MN[:, judged] > 0, axis=1),
        "fold": fold_M,
        **{f"leaf/{name}": arms[name][test][:, judged].astype(np.float16) for name in STORED},
    }
    np.savez_compressed(Path(out) / "findings.npz", **kept)
    of_tasks: dict[str, NDArray[np.generic]] = {"fold": fold_M}
    lines = ["arm,of,folds,positives,auc"]
    parts = {"1-4": fold_M <= 4, "5-8": fold_M > 4, "1-8": fold_M > 0}
    for folds, in_M in parts.items():
        for name, score_MN in arms.items():
            auc_L = class_auc(y_MN[in_M][:, judged], score_MN[test][in_M][:, judged])
            lines += [
                f'"{name}",{onto.nodes[n].abbr},{folds},{y_MN[in_M][:, n].sum(dtype=int)},{auc:.5f}'
                for n, auc in zip(judged, auc_L, strict=True)
            ]
    for task in CLASS_OF:
        scores = of_task(task, records, arms, root)
        of_tasks |= {
            key: value for key, value in scores.items() if key.partition("/")[2] in (*STORED, *ABOUT)
        }
        classes = scores[f"{task}/classes"]
        y_MK = np.unpackbits(scores[f"{task}/y"], axis=1)[:, : len(classes)]
        labelled_M = np.unpackbits(scores[f"{task}/labelled"])[: len(test)] > 0
        for folds, in_M in parts.items():
            rows = labelled_M & in_M
            for key in (key for key in scores if key.partition("/")[2] not in ABOUT):
                name = key.partition("/")[2]
                auc_K = class_auc(y_MK[rows], scores[key][rows].astype(float))
                lines += [
                    f'"{name}",{task} {one},{folds},{y_MK[rows, k].sum(dtype=int)},{auc_K[k]:.5f}'
                    for k, one in enumerate(classes)
                    if np.isfinite(auc_K[k])
                ]
    np.savez_compressed(Path(out) / "tasks.npz", **of_tasks)
    (Path(out) / "auc.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
