"""Run the experiment of plan.md on stored features: findings with few labels, with a group's score as prior.

    python -m research.graph.prior.run PTBXL CORPUS FEATURES OUT STAGE ENCODER…

PTBXL is the folder of the dataset's tables, and FEATURES is the folder that `features.py` wrote. STAGE is:

- `real`: groups of findings from all graphs except shuffled graphs.
- `family`: groups from the real graph only.
- `own`: as `family`, with the penalty α chosen on the same hospital.
- `shuffles-FIRST-STOP`: groups from shuffled graphs, whose seeds are FIRST to STOP − 1.
- `within-FIRST-STOP`: as `shuffles`, but findings of the family Normal keep their place.

`STAGE@ptbxl` or `STAGE@others` runs a stage on one hospital only.
"""

import logging
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from research.graph.prior.limited import (
    ALPHAS,
    WEIGHTS,
    Groups,
    Hospital,
    Teaching,
    digit,
    families_by_alpha,
    labels_by_alpha,
    one_finding,
)

from ecg_ontology import Ontology
from ecg_records.readers.datasets import ptbxl
from marecg.corpus import index
from marecg.corpus.prepared import Corpus
from marecg.model.mar_ecg import MarEcg
from marecg.model.readout import wide_columns

logger = logging.getLogger(__name__)
READ = ("mean", "max", "std", "log_std", "modulation")
SHUFFLE_DRAWS, SHUFFLE_COUNTS = 4, (1, 2, 5)
PTBXL, OTHERS = "ptbxl", "others"
FEWEST_TOGETHER = 5
PRINCIPAL = 348


def read_features(folder: Path, name: str) -> NDArray[np.float32]:
    """Return the columns that the experiment reads, or MiniRocket's principal components."""
    x_MV = np.load(folder / f"{name}.npy")
    if name == "minirocket":
        x_MV = (x_MV - x_MV.mean(0)) / (x_MV.std(0) + 1e-6)
        values, vectors = np.linalg.eigh(x_MV @ x_MV.T)
        main = vectors[:, -PRINCIPAL:] * np.sqrt(values[-PRINCIPAL:])
        turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(PRINCIPAL, PRINCIPAL)))
        return (main @ turn).astype(
            np.float32
        )  # so that standardised columns don't make small components loud
    columns = wide_columns(MarEcg.from_pretrained("marecg-small").config, "beats")
    return np.concatenate([x_MV[:, columns[part]] for part in READ], 1)


def read_hospitals(corpus: Corpus, x_MF: NDArray[np.float32]) -> dict[str, Hospital]:
    """Split the coded records of the corpus into two hospitals."""
    sources = np.array([corpus.sources[row] for row in range(len(corpus))])
    names = [f"{sources[row]}/{corpus.patients[row] or corpus.ids[row]}" for row in range(len(corpus))]
    halves = np.array([digit(name, "") for name in names])
    parts = np.array([digit(name, "part ") for name in names])
    coded_M = corpus.primary >= 0
    hospitals = {}
    for name, of_M in ((PTBXL, sources == PTBXL), (OTHERS, sources != PTBXL)):
        rows = np.flatnonzero(coded_M & of_M)
        hospitals[name] = Hospital(name, x_MF[rows], corpus.y[rows] > 0, halves[rows], parts[rows])
    return hospitals


def superclasses(onto: Ontology, root: Path, codes: list[list[str]]) -> dict[int, str]:
    """Return SCP-ECG's superclass, `rhythm` or `form` for each leaf: the most frequent of its statements."""
    statements = {f"scp:{one.name}": one for one in ptbxl.statements(root).values()}
    count = Counter(code for record in codes for code in {*record} if code in statements)
    votes: dict[int, Counter[str]] = {}
    for code, records in count.items():
        one = statements[code]
        tag = one.superclass or ("rhythm" if one.rhythm else "form")
        for leaf in onto.route(code).leaves:
            votes.setdefault(leaf, Counter())[tag] += records
    return {leaf: vote.most_common(1)[0][0] for leaf, vote in votes.items()}


def groups_of(finding: int, onto: Ontology, tags: dict[int, str], other: Hospital) -> Groups:
    """Return the finding's group in each graph except `looks`, which depends on features."""
    leaves = [n for n in range(len(onto)) if n not in onto.roots]
    family = np.array(onto.families)
    normal = next(node.index for node in onto.nodes if node.abbr == "Normal")
    y_MN = other.y_MN
    near: list[int] = []
    if y_MN[:, finding].sum() >= FEWEST_TOGETHER:
        enough = [n for n in leaves if n != finding and y_MN[:, n].sum() >= FEWEST_TOGETHER]
        phi = [np.corrcoef(y_MN[:, finding], y_MN[:, n])[0, 1] for n in enough]
        near = [enough[place] for place in np.argsort(-np.array(phi))[:4]]
    return {
        "real": frozenset(n for n in leaves if family[n] == family[finding]),
        "scp": frozenset(n for n in leaves if finding in tags and tags.get(n) == tags[finding]) | {finding},
        "co-occurrence": frozenset([finding, *near]),
        "abnormal": frozenset(n for n in leaves if family[n] != normal) | {finding},
    }


def shuffled(finding: int, onto: Ontology, seeds: range, *, within: bool = False) -> Groups:
    """Return the finding's group in shuffled graphs. With `within`, leaves of the family Normal stay."""
    leaves = np.array([n for n in range(len(onto)) if n not in onto.roots])
    family = np.array(onto.families)[leaves]
    groups = {}
    for seed in seeds:
        generator = np.random.default_rng(seed)
        moved = generator.permutation(family)
        if within:
            normal = next(node.index for node in onto.nodes if node.abbr == "Normal")
            moved = family.copy()
            moved[family != normal] = generator.permutation(family[family != normal])
        groups[f"shuffle {seed}"] = frozenset(leaves[moved == moved[leaves == finding]].tolist())
    return groups


def penalties(path: Path, hospitals: dict[str, Hospital], onto: Ontology) -> dict[str, NDArray[np.floating]]:
    """Return the mean AUC without a prior by α and k, and of families by α. Store them in a file."""
    if not path.exists():
        member = [
            frozenset(n for n in range(len(onto)) if onto.families[n] == root and n != root)
            for root in onto.roots
        ]
        figures = {}
        for name, hospital in hospitals.items():
            by_alpha = np.stack([labels_by_alpha(hospital, half) for half in (0, 1)])
            figures[f"{name}/by_alpha"] = np.nanmean(by_alpha, axis=(0, 3, 4))
            by_family = [families_by_alpha(hospital, half, member).mean(1) for half in (0, 1)]
            figures[f"{name}/families"] = np.mean(by_family, axis=0)
        np.savez(path, **figures)
    with np.load(path) as file:
        return dict(file)


def main(ptbxl_folder: str, corpus_folder: str, features: str, out: str, stage: str, *encoders: str) -> None:
    """Write one `.npz` per set of features and stage."""
    corpus = Corpus.open(corpus_folder)
    onto = corpus.ontology()
    codes = index.of(corpus.folder, ["codes"])["codes"].to_pylist()
    tags = superclasses(onto, Path(ptbxl_folder), codes)
    stage, _, alone = stage.partition("@")
    for encoder in encoders:
        path = Path(out) / f"{stage}-{encoder}-{alone or 'both'}.npz"
        if path.exists():
            continue
        hospitals = read_hospitals(corpus, read_features(Path(features), encoder))
        by_alpha = penalties(Path(out) / f"alpha-{encoder}.npz", hospitals, onto)
        kept: dict[str, NDArray[np.generic]] = {}
        for name, hospital in hospitals.items():
            if alone not in ("", name):
                continue
            other = hospitals[OTHERS if name == PTBXL else PTBXL]
            chooser = name if stage == "own" else other.name
            alpha_K = [ALPHAS[place] for place in by_alpha[f"{chooser}/by_alpha"].argmax(0)]
            family_alpha = ALPHAS[int(by_alpha[f"{chooser}/families"].argmax())]
            kept[f"{name}/alpha"] = np.array([*alpha_K, family_alpha])
            kept[f"{name}/by_alpha"] = by_alpha[f"{name}/by_alpha"]
            kept[f"{name}/findings"] = np.array([onto.nodes[finding].abbr for finding in hospital.findings])
            outcomes = []
            for finding in hospital.findings:
                groups = groups_of(finding, onto, tags, other)
                for half in (0, 1):
                    if stage.startswith(("shuffles", "within")):
                        seeds = range(*map(int, stage.split("-")[1:]))
                        outcome = one_finding(
                            Teaching(hospital, half, {}),
                            finding,
                            {
                                "real": groups["real"],
                                **shuffled(finding, onto, seeds, within=stage[0] == "w"),
                            },
                            alpha_K[: len(SHUFFLE_COUNTS)],
                            family_alpha,
                            SHUFFLE_DRAWS,
                            SHUFFLE_COUNTS,
                            look=False,
                            weights=WEIGHTS[:1],
                        )
                    else:
                        teaching = Teaching(hospital, half, {other.name: other})
                        every = stage == "real"
                        chosen = groups if every else {"real": groups["real"]}
                        outcome = one_finding(teaching, finding, chosen, alpha_K, family_alpha, look=every)
                    outcomes.append(outcome)
                logger.info("%s, %s: %s", encoder, name, onto.nodes[finding].abbr)
            for field in ("labels_DK", "prior_DKGW", "sibling_DKGW", "over_labels_DK", "over_prior_DKGW"):
                values = np.stack([getattr(one, field) for one in outcomes])
                kept[f"{name}/{field}"] = values.reshape(-1, 2, *values.shape[1:]).astype(np.float32)
        np.savez_compressed(path, **kept)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    main(*sys.argv[1:])
