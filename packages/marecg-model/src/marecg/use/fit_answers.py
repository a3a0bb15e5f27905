"""Fit the answers of a model (`marecg.use.answers`) on coded records, and evaluate them on other records.

    python -m marecg.use.fit_answers MODEL --fit CORPUS --judge CORPUS --out FOLDER

Writes answers.json, answers.md and answers.svg. Copy answers.json into the folder of the model's weights.

Shapes: M records, N concepts.
"""

import argparse
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import binomtest

from ecg_base import replacing, write_text
from ecg_ontology import Ontology
from marecg.base.markdown import table
from marecg.classify.calibration import calibrate
from marecg.corpus.prepared import Corpus
from marecg.corpus.trained_on import signals_sha256
from marecg.embedding.inputs import Inputs
from marecg.errors import CorpusError, EcgError
from marecg.evaluate.scores.metrics import error_by_chance, expected_calibration_error
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import weights_sha256
from marecg.use.answers import ANSWERS, Answers, logits, marked
from marecg.use.predict import predict_table

LEAST = 20
"""Minimum number of records with a concept, and of records without it, for fitting its calibration."""
RISKS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
EASY = "Normal"
"""Family that most records have. Answers outside this family are also evaluated separately."""


def shares(model: MarEcg, folder: Path, out: Path) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Return the predicted shares and the true leaves, both [M, N], of the records in a corpus.

    Only records with codes for at least one leaf (finding) are used.

    Predictions are stored in the folder `out`, and reused by the next call. Raises `CorpusError` if too few
    records have a leaf, or if a record can't be read.
    """
    corpus = Corpus.open(folder)
    coded = np.flatnonzero(corpus.primary >= 0)
    if len(coded) < LEAST:
        problem = f"must have at least {LEAST} coded records, got {len(coded)}"
        raise CorpusError(problem, where=folder, remedy="Prepare more records with codes")
    path = out / f"{weights_sha256(model)[:12]}-{signals_sha256(corpus)[:12]}.parquet"
    if not path.is_file():
        table, _ = predict_table(model, Inputs([str(folder)]))
        with replacing(path) as temporary:
            table.to_parquet(temporary, index=False)
    table = pd.read_parquet(path)
    if len(table) != len(corpus):
        problem = f"all {len(corpus)} records must be readable, got {len(table)}"
        raise CorpusError(problem, where=folder, remedy="Prepare the corpus again")
    names = [node.abbr for node in model.ontology.nodes]
    return table[names].to_numpy(float)[coded], corpus.y[coded]


def fitted(model: MarEcg, q_MN: NDArray[np.float64], y_MN: NDArray[np.uint8]) -> Answers:
    """Fit the calibration of each family and leaf that at least `LEAST` records have, and `LEAST` lack."""
    onto = model.ontology
    logit_MN, is_MN = logits(onto, q_MN), marked(onto, y_MN)
    enough = np.flatnonzero(np.minimum(is_MN.sum(0), (~is_MN).sum(0)) >= LEAST)
    of = {
        onto.nodes[concept].abbr: calibrate(
            logit_MN[:, concept], is_MN[:, concept].astype(float), "temperature"
        )
        for concept in enough.tolist()
    }
    return Answers(weights=weights_sha256(model), records=len(q_MN), of=of)


def judged(
    answers: Answers, onto: Ontology, q_MN: NDArray[np.float64], y_MN: NDArray[np.uint8]
) -> Iterator[str]:
    """Yield the lines of Markdown tables that evaluate the answers on records not used for fitting."""
    is_MN, p_MN = marked(onto, y_MN), answers.probabilities(onto, q_MN)
    before_MN = 1 / (1 + np.exp(-logits(onto, q_MN)))
    rows = []
    for root in onto.roots:
        if onto.nodes[root].abbr in answers.of:
            is_M, p_M = is_MN[:, root].astype(float), p_MN[:, root]
            errors = [expected_calibration_error(is_M, q_M) for q_M in (before_MN[:, root], p_M)]
            rows.append((onto.nodes[root].abbr, is_M.mean(), *errors, error_by_chance(p_M)))
    rows.append(("mean", *np.mean([row[1:] for row in rows], axis=0)))
    yield from table(
        [f"family, {len(q_MN):,} records", "have it", "ECE before", "after", "by chance"],
        [[name, *(f"{100 * value:.1f} %" for value in values)] for name, *values in rows],
    )
    yield ""
    by_risk = []
    for risk in RISKS:
        is_wrong, is_wrong_outside, (families_only, found) = curve_point(answers, onto, q_MN, is_MN, risk)
        wrong_of_all = f"{100 * np.mean(is_wrong):.1f} %" if is_wrong else "–"
        wrong = ["–", "–"]
        if is_wrong_outside:
            low, high = binomtest(sum(is_wrong_outside), len(is_wrong_outside)).proportion_ci(0.95, "wilson")
            wrong = [f"{100 * np.mean(is_wrong_outside):.1f} %", f"{100 * low:.1f}–{100 * high:.1f} %"]
        counts = (f"{len(is_wrong):,}", wrong_of_all, f"{len(is_wrong_outside):,}", f"{families_only:,}")
        by_risk.append([f"{risk:g}", *counts, *wrong, f"{100 * found:.1f} %"])
    heads = ["risk", "answers", "wrong", f"outside {EASY}", "only a family", "wrong", "95 %"]
    yield from table([*heads, "families recognised"], by_risk)


def curve_point(
    answers: Answers, onto: Ontology, q_MN: NDArray[np.float64], is_MN: NDArray[np.bool_], risk: float
) -> tuple[list[bool], list[bool], tuple[int, float]]:
    """Evaluate the answers at a risk, which is the share of answers that may be wrong.

    Returns:
        - For each answer, whether it is wrong.
        - For each answer outside the family `EASY`, whether it is wrong.
        - Outside this family, the number of answers that name only a family, and the number of correct
          answers divided by the number of families that the records have.
    """
    checked = [
        (not is_N[answer.concept], answer.concept)
        for is_N, of_record in zip(is_MN, answers.select(onto, q_MN, risk), strict=True)
        for answer in of_record
    ]
    outside = [pair for pair in checked if onto.nodes[onto.families[pair[1]]].abbr != EASY]
    roots = [root for root in onto.roots if onto.nodes[root].abbr != EASY]
    n_families = int(is_MN[:, roots].sum())
    n_right = sum(not wrong for wrong, _ in outside)
    families_only = sum(concept in onto.roots for _, concept in outside)
    share_found = n_right / max(n_families, 1)
    return [wrong for wrong, _ in checked], [wrong for wrong, _ in outside], (families_only, share_found)


def drawing(
    answers: Answers, onto: Ontology, parts: dict[str, tuple[NDArray[np.float64], NDArray[np.uint8]]]
) -> str:
    """Return an SVG chart of the share of wrong answers against the share of families that are found.

    The family `EASY` is left out. The chart has a line for each set of records. A line has a point for each
    value in `RISKS`, the highest share of answers that may be wrong.

    Args:
        answers: fitted answers.
        onto: graph of the model.
        parts: for each line, by name, the output of `shares` for its records.
    """
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name, (q_MN, y_MN) in parts.items():
        is_MN = marked(onto, y_MN)
        points = [curve_point(answers, onto, q_MN, is_MN, risk) for risk in RISKS]
        wrong = [100 * float(np.mean(outside)) if outside else np.nan for _, outside, _ in points]
        axes.plot([100 * found for _, _, (_, found) in points], wrong, "o-", markersize=4, label=name)
    axes.set_xlabel(f"families outside {EASY} that are found, % of the records' families")
    axes.set_ylabel("wrong answers, %")
    axes.legend(frameon=False)
    with rc_context({"svg.hashsalt": "marecg", "svg.fonttype": "none"}):
        file = StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command of this module."""
    parser = argparse.ArgumentParser(description="Fit a model's answers on coded records and evaluate them.")
    parser.add_argument("model", help="run, folder of a model, or name such as marecg-small-codes")
    parser.add_argument("--fit", type=Path, required=True, help="prepared corpus to fit on")
    parser.add_argument(
        "--judge", type=Path, required=True, nargs="+", help="prepared corpora to evaluate on"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for answers.json, .md and .svg")
    arguments = parser.parse_args(argv)
    try:
        markdown = written(arguments.model, arguments.fit, arguments.judge, arguments.out)
        print(markdown, end="")  # noqa: T201 (a command)
    except EcgError as error:
        parser.exit(3, f"error: {error}\n")


def written(name: str, fit: Path, judge: Sequence[Path], out: Path) -> str:
    """Fit and evaluate a model's answers, write them to a folder, and return the evaluation as Markdown.

    Args:
        name: a run, a model folder, or the name of a model.
        fit: prepared corpus to fit on.
        judge: prepared corpora to evaluate on.
        out: folder for the answers, their evaluation, and the predictions for all corpora.

    Raises:
        CorpusError: a corpus has too few codes, or `fit` and `judge` have a patient in common.
    """
    model = MarEcg.from_pretrained(name)
    patients = _patients(fit)
    for folder in judge:
        if both := patients & _patients(folder):
            problem = f"has {len(both)} patients that are also in --fit"
            raise CorpusError(problem, where=folder, remedy="Evaluate on records of other patients")
    out.mkdir(parents=True, exist_ok=True)
    answers = fitted(model, *shares(model, fit, out))
    parts = {folder.name: shares(model, folder, out) for folder in judge}
    tables = [
        "\n".join((f"### {name}\n", *judged(answers, model.ontology, *part))) for name, part in parts.items()
    ]
    texts = {
        ANSWERS: answers.model_dump_json(indent=1),
        "answers.md": "\n\n".join(tables) + "\n",
        "answers.svg": drawing(answers, model.ontology, parts),
    }
    for file, text in texts.items():
        write_text(out / file, text)
    return texts["answers.md"]


def _patients(folder: Path) -> set[str]:
    """Return the patients of a corpus. A record without a patient counts as another patient."""
    corpus = Corpus.open(folder)
    of_records = zip(corpus.patients, corpus.sources, corpus.ids, strict=True)
    return {
        f"{source} {patient}" if patient else f"{source}/{record}" for patient, source, record in of_records
    }


if __name__ == "__main__":
    main()
