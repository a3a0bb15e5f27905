"""Answers of a model (`marecg.use.answers`), fitted on coded records and evaluated on other records.

    python -m marecg.use.fit_answers MODEL --fit CORPUS --judge CORPUS --out FOLDER

Writes answers.json, answers.md and answers.svg. answers.json belongs in the folder of the model's weights.

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
"""Least number of records with a concept, and least number without it, for fitting its calibration."""
RISKS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
EASY = "Normal"
"""Family that most records have. Answers outside it are reported separately."""


def shares(model: MarEcg, folder: Path, out: Path) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Return q and the leaves [M, N] of a corpus' records that have a leaf.

    The output of `marecg predict` is kept in `out`. Raises `CorpusError` if too few records have a leaf, or
    if records can't be read.
    """
    corpus = Corpus.open(folder)
    coded = np.flatnonzero(corpus.primary >= 0)
    if len(coded) < LEAST:
        problem = f"has {len(coded)} records with codes, too few to fit or judge by"
        raise CorpusError(problem, where=folder, remedy="Prepare more records that carry codes")
    path = out / f"{weights_sha256(model)[:12]}-{signals_sha256(corpus)[:12]}.parquet"
    if not path.is_file():
        table, _ = predict_table(model, Inputs([str(folder)]))
        with replacing(path) as temporary:
            table.to_parquet(temporary, index=False)
    table = pd.read_parquet(path)
    if len(table) != len(corpus):
        problem = f"has {len(corpus)} records, of which {len(table)} could be read"
        raise CorpusError(problem, where=folder, remedy="Prepare it again")
    names = [node.abbr for node in model.ontology.nodes]
    return table[names].to_numpy(float)[coded], corpus.y[coded]


def fitted(model: MarEcg, q_MN: NDArray[np.float64], y_MN: NDArray[np.uint8]) -> Answers:
    """Fit slope and shift of the logit for each family and leaf that `LEAST` records have and lack."""
    onto = model.ontology
    logit_MN, is_MN = logits(onto, q_MN), marked(onto, y_MN)
    enough = np.flatnonzero(np.minimum(is_MN.sum(0), (~is_MN).sum(0)) >= LEAST)
    of = {
        onto.nodes[at].abbr: calibrate(logit_MN[:, at], is_MN[:, at].astype(float), "temperature")
        for at in enough.tolist()
    }
    return Answers(weights=weights_sha256(model), records=len(q_MN), of=of)


def judged(
    answers: Answers, onto: Ontology, q_MN: NDArray[np.float64], y_MN: NDArray[np.uint8]
) -> Iterator[str]:
    """Yield Markdown tables of the answers' scores on records that were not used for fitting."""
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
        every, apart, point = curve_point(answers, onto, q_MN, is_MN, risk)
        wrong_of_all = f"{100 * np.mean(every):.1f} %" if every else "–"
        wrong = ["–", "–"]
        if apart:
            low, high = binomtest(sum(apart), len(apart)).proportion_ci(0.95, "wilson")
            wrong = [f"{100 * np.mean(apart):.1f} %", f"{100 * low:.1f}–{100 * high:.1f} %"]
        counts = (f"{len(every):,}", wrong_of_all, f"{len(apart):,}", f"{point[0]:,}")
        by_risk.append([f"{risk:g}", *counts, *wrong, f"{100 * point[1]:.1f} %"])
    heads = ["risk", "answers", "wrong", f"outside {EASY}", "families alone", "wrong", "95 %"]
    yield from table([*heads, "of families borne"], by_risk)


def curve_point(
    answers: Answers, onto: Ontology, q_MN: NDArray[np.float64], is_MN: NDArray[np.bool_], risk: float
) -> tuple[list[bool], list[bool], tuple[int, float]]:
    """Evaluate the answers at a risk.

    Returns:
        Whether each answer is wrong; the same for the answers outside the family `EASY`; and, outside this
        family, the number of answers that name only a family, and the number of correct answers divided by
        the number of families that the records have.
    """
    of_records = answers.told(onto, q_MN, risk)
    mistakes = [
        (not is_M[one.concept], one.concept)
        for is_M, some in zip(is_MN, of_records, strict=True)
        for one in some
    ]
    easy = [onto.nodes[onto.families[at]].abbr == EASY for _, at in mistakes]
    apart = [pair for pair, of_easy in zip(mistakes, easy, strict=True) if not of_easy]
    roots = [root for root in onto.roots if onto.nodes[root].abbr != EASY]
    borne = int(is_MN[:, roots].sum())
    right = sum(not wrong for wrong, _ in apart)
    alone = sum(at in onto.roots for _, at in apart)
    return [wrong for wrong, _ in mistakes], [wrong for wrong, _ in apart], (alone, right / max(borne, 1))


def drawing(
    answers: Answers, onto: Ontology, parts: dict[str, tuple[NDArray[np.float64], NDArray[np.uint8]]]
) -> str:
    """Draw risk against coverage outside the family `EASY` as SVG, with a line per part of the records."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name, (q_MN, y_MN) in parts.items():
        is_MN = marked(onto, y_MN)
        points = [curve_point(answers, onto, q_MN, is_MN, risk) for risk in RISKS]
        wrong = [100 * float(np.mean(apart)) if apart else np.nan for _, apart, _ in points]
        axes.plot([100 * of_easy for _, _, (_, of_easy) in points], wrong, "o-", markersize=4, label=name)
    axes.set_xlabel(f"families outside {EASY} that a record bears and that are told, %")
    axes.set_ylabel("answers that are wrong, %")
    axes.legend(frameon=False)
    with rc_context({"svg.hashsalt": "marecg", "svg.fonttype": "none"}):
        file = StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def main(argv: Sequence[str] | None = None) -> None:
    """Fit, evaluate and write a model's answers, with the command-line arguments of this module."""
    parser = argparse.ArgumentParser(description="Fit and judge what a model can tell of coded records.")
    parser.add_argument("model", help="a run, a model, or the name of one, such as marecg-small-codes")
    parser.add_argument("--fit", type=Path, required=True, help="a prepared corpus whose codes fit")
    parser.add_argument("--judge", type=Path, required=True, nargs="+", help="corpora of other records")
    parser.add_argument("--out", type=Path, required=True, help="a folder for answers.json, .md and .svg")
    given = parser.parse_args(argv)
    try:
        print(written(given.model, given.fit, given.judge, given.out), end="")  # noqa: T201 (a command)
    except EcgError as error:
        parser.exit(3, f"error: {error}\n")


def written(name: str, fit: Path, judge: Sequence[Path], out: Path) -> str:
    """Fit and evaluate a model's answers, write them to a folder, and return the evaluation as Markdown.

    Raises `CorpusError` if a corpus has too few codes, or if a patient is in both fitting and evaluation.
    """
    model = MarEcg.from_pretrained(name)
    patients = _patients(fit)
    for folder in judge:
        if both := patients & _patients(folder):
            problem = f"has {len(both)} patients whose records fit, too"
            raise CorpusError(problem, where=folder, remedy="Judge by records of other patients")
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
    """Return the patients of a corpus. A record without a patient counts as a patient of its own."""
    corpus = Corpus.open(folder)
    of_records = zip(corpus.patients, corpus.sources, corpus.ids, strict=True)
    return {f"{source} {patient}" if patient else f"{source}/{one}" for patient, source, one in of_records}


if __name__ == "__main__":
    main()
