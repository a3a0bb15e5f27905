"""Fit a model's concept scores (`marecg.model.concept_scores`) on the codes of its training records.

    python -m marecg.use.fit_concept_scores MODEL --data CORPUS [--without SOURCE]

A concept score is the mean of two scores of a concept. One is from the prototypes, which are the model's
vectors of the concepts. The other is from a ridge regression on the beat readout, or, where it is computed,
on the full readout (`marecg.model.readout`). The command writes concept_scores.safetensors into the folder of
the model's weights, and updates the model card.

Shapes: M corpus records, T records that the scores are fitted on, F features, N concepts, V full readout.
"""

import argparse
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecg_base import write_text
from marecg.corpus import index, trained_on
from marecg.corpus.prepared import Corpus
from marecg.embedding.embed import embed
from marecg.errors import CorpusError, EcgError
from marecg.evaluate.methods.frozen_encoder import log_q
from marecg.model.concept_scores import ConceptScores, Ridge
from marecg.model.config import ModelConfig
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import folder_of, weights_sha256
from marecg.model.readout import columns_within, part_weights, readout_width, views, wide_columns
from marecg.use.answers import marked

ALPHAS = np.logspace(0, 6, 13)
"""Candidates for the penalty of ridge regression."""
LEAST, LARGEST = 20, 5000
"""Minimum and maximum number of records to fit on. If there are more, some are drawn at random."""
BATCH = 64
Floats = NDArray[np.float64]


def fitted(model: MarEcg, corpus: Corpus, rows: NDArray[np.int64]) -> ConceptScores:
    """Fit the concept scores of a model on the codes of some records, given by their row in the corpus."""
    config, y_TN = model.config, marked(model.ontology, corpus.y[rows])

    x_TV = full_readout(model, corpus, rows)
    beats = columns_within(config, "beats", "full")
    of_view = [ridge_of_view(config, x_TV, columns, y_TN) for columns in views(config, "full")]
    of_beats = of_view[views(config, "full").index(beats)]
    of_full = mean_of(of_view)
    public = model.provenance.sources if model.provenance else {}  # other names may identify a patient
    sources = Counter(corpus.sources[row] for row in rows)
    from_other_sources = sum(count for source, count in sources.items() if source not in public)
    return ConceptScores(
        weights=weights_sha256(model),
        sources={source: sources[source] for source in sorted(public) if source in sources},
        others=from_other_sources,
        log_q_TN=log_q(model, x_TV[:, wide_columns(config, "full")["rhythm"]]).astype(np.float32),
        taught_N=y_TN.sum(0, dtype=np.int64),
        ridges={
            "beats": stored(of_beats._replace(weight_NV=of_beats.weight_NV[:, beats])),
            "full": stored(of_full),
        },
    )


def full_readout(model: MarEcg, corpus: Corpus, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the full readout of some records of a corpus, [T, V]."""
    x_TV = np.empty((len(rows), readout_width(model.config, "full")), np.float32)
    for samples in np.unique(corpus.n_valid[rows]):
        same_length = np.flatnonzero(corpus.n_valid[rows] == samples)
        for part in np.array_split(same_length, -(-len(same_length) // BATCH)):
            signals = corpus.signals(rows[part])[:, :, :samples]
            x_TV[part] = embed(model, signals, fs=corpus.config.fs, readout="full").wide
    return x_TV


def ridge_of_view(
    config: ModelConfig, x_TV: NDArray[np.float32], columns: slice, y_TN: NDArray[np.bool_]
) -> Ridge:
    """Fit a ridge regression on a view of the full readout. The weights of all other columns are 0.

    The values are standardised, and the blocks of the view have equal weights.
    """
    x_TF = x_TV[:, columns]
    mean_F = x_TF.mean(0, dtype=np.float64)
    scale_F = part_weights(config, "full")[columns] / (x_TF.std(0, dtype=np.float64) + 1e-6)
    weight_FN, bias_N, left_out_TN = ridge((x_TF - mean_F) * scale_F, y_TN.astype(np.float64))
    weight_FN *= scale_F[:, None]
    weight_NV = np.zeros((y_TN.shape[1], x_TV.shape[1]))
    weight_NV[:, columns] = weight_FN.T
    return Ridge(weight_NV, bias_N - mean_F @ weight_FN, left_out_TN)


def mean_of(ridges: Sequence[Ridge]) -> Ridge:
    """Return the mean of several regressions on the same values."""
    return Ridge(*(np.asarray(np.mean(arrays, axis=0)) for arrays in zip(*ridges, strict=True)))


def stored(fitted: Ridge) -> Ridge:
    """Return a regression in float32, as it is stored."""
    return Ridge(*(np.ascontiguousarray(array, np.float32) for array in fitted))


def ridge(x_TF: Floats, y_TN: Floats) -> tuple[Floats, Floats, Floats]:
    """Fit a ridge regression for each concept, with the penalty that gives the least leave-one-out error.

    Returns:
        Weights [F, N], intercepts [N], and leave-one-out scores [T, N]: each record's scores by a regression
        that was fitted without the record.
    """
    mean_F, mean_N = x_TF.mean(0), y_TN.mean(0)
    x_TF = x_TF - mean_F
    value_T, vector_TT = np.linalg.eigh(x_TF @ x_TF.T)
    value_T = value_T.clip(0)
    along_TN = vector_TT.T @ (y_TN - mean_N)
    best_N = np.full(y_TN.shape[1], np.inf)
    left_out_TN, dual_TN = np.zeros_like(y_TN), np.zeros_like(y_TN)
    for alpha in ALPHAS:
        keep_T = value_T / (value_T + alpha)
        fit_TN = mean_N + vector_TT @ (keep_T[:, None] * along_TN)
        leverage_T = 1 / len(x_TF) + vector_TT**2 @ keep_T
        error_TN = (y_TN - fit_TN) / (1 - leverage_T)[:, None]
        better_N = (error_TN**2).mean(0) < best_N
        best_N[better_N] = (error_TN**2).mean(0)[better_N]
        left_out_TN[:, better_N] = (y_TN - error_TN)[:, better_N]
        dual_TN[:, better_N] = (vector_TT @ (along_TN / (value_T + alpha)[:, None]))[:, better_N]
    weight_FN = x_TF.T @ dual_TN
    return weight_FN, mean_N - mean_F @ weight_FN, left_out_TN


def teaching_rows(model: MarEcg, folder: Path, corpus: Corpus, without: Collection[str]) -> NDArray[np.int64]:
    """Return the rows of a corpus to fit on: coded records that the model was trained on.

    Records are left out if their source is in `without`, or if the model was trained without the codes of
    their source. If the model has no list of its training records, all other coded rows are used. From more
    than `LARGEST` rows, `LARGEST` rows are drawn at random.

    Args:
        model: the model.
        folder: folder of the model's weights.
        corpus: prepared corpus that the model was trained on.
        without: names of sources.

    Raises:
        CorpusError: If fewer than `LEAST` records remain.
    """
    unread = {*without, *(model.provenance.without_codes if model.provenance else ())}
    is_usable_M = (corpus.primary >= 0) & ~corpus.sources.among(unread)
    trained = trained_on.read(trained_on.folder_beside(folder))
    if trained is not None:
        hashes = index.of(corpus.folder, ["signal_hash"])["signal_hash"].to_pylist()
        is_usable_M &= np.array([signal_hash in trained.hashes for signal_hash in hashes])
    rows = np.flatnonzero(is_usable_M)
    if len(rows) < LEAST:
        problem = f"must have at least {LEAST} coded records that the model was trained on, got {len(rows)}"
        raise CorpusError(
            problem, where=corpus.folder, remedy="Give the corpus that the model was trained on"
        )
    return np.sort(np.random.default_rng(0).permutation(rows)[:LARGEST])


def write_concept_scores(name: str | Path, data: Path, without: Collection[str] = ()) -> ConceptScores:
    """Fit a model's concept scores, and write them and the model card into its folder.

    Args:
        name: a run, a model folder, or the name of a model.
        data: prepared corpus that the model was trained on.
        without: sources whose codes aren't used, such as synthetic records.

    Raises:
        CorpusError: If the corpus has too few coded records that the model was trained on.
        UsageError: If the model has no prototypes, because it was trained without codes or without the
            objective GSCL.
    """
    folder = folder_of(name)
    model, corpus = MarEcg.from_pretrained(folder), Corpus.open(data)
    model.concept_scores = fitted(model, corpus, teaching_rows(model, folder, corpus, without))
    model.concept_scores.write(folder)
    write_text(folder / "README.md", str(model.generate_model_card()))
    return model.concept_scores


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command of this module."""
    parser = argparse.ArgumentParser(description="Fit a model's concept scores on the codes of its records.")
    parser.add_argument("model", help="run, or folder of a model")
    parser.add_argument("--data", type=Path, required=True, help="corpus that the model was trained on")
    parser.add_argument("--without", action="append", default=[], help="source whose codes are ignored")
    arguments = parser.parse_args(argv)
    try:
        scores = write_concept_scores(arguments.model, arguments.data, arguments.without)
    except EcgError as error:
        parser.exit(3, f"error: {error}\n")
    print(scores.taught_by)  # noqa: T201 (a command)


if __name__ == "__main__":
    main()
