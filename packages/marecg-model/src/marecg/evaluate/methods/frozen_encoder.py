"""Make a `Method` from a frozen encoder: the tested encoder, or a random encoder of the same shape.

H are the encoder's vectors of patches, and h_rhythm is the pooled vector of a record. The longer readouts of
H (wide, beat and full readout) are explained in `marecg.model.readout`.

The prototypes p_c, a vector for each concept of the graph, score a task's classes without labelled records
(zero-shot). A record's share of a concept is q_c = softmax_c(⟨W_sca h_rhythm, p_c⟩/τ) (eq. gscl-pred), with
the trained projection W_sca and the temperature τ of the model. The score of a class is the log of the sum of
q over the concepts of the class (`Task.concepts`). A class may have no concepts. If the model has
`concept_scores`, and the beat or full readout is computed, this score is averaged with the score of a ridge
regression on this readout.

Shapes: B recordings, M records, K classes, N concepts, D width, F features, W wide readout, V wide and beat
readout, C leads, L samples.
"""

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

import ecg_ontology
from ecg_ontology import Ontology
from marecg.embedding.embed import embed
from marecg.embedding.processes import threadless
from marecg.errors import CheckpointError, InputError
from marecg.evaluate.methods.handcrafted import handcrafted
from marecg.evaluate.methods.method import Method, Row, Signals
from marecg.evaluate.probe.linear import UNSEEN_LOGIT, choose_averaged
from marecg.evaluate.scores.metrics import Floats
from marecg.evaluate.scores.summary import (
    BEATS,
    CONCEPTS,
    ENCODER,
    FULL,
    MEAN_H,
    RANDOM,
    WIDE,
    ZERO_SHOT,
    Trial,
)
from marecg.evaluate.tasks.task import FS, Task
from marecg.model.by_family import family_of, judged_by_family
from marecg.model.concept_scores import TAUGHT, ConceptScores
from marecg.model.config import ModelConfig
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import weights_sha256
from marecg.model.readout import Readout, columns_within, part_weights, readout_width, views, wide_columns

POOLING = "wide readout, mean over windows of the encoder's context, 2"
"""Version of the wide readout in the hash of its features.

Raise the number when the features change, so that stored features aren't reused.
"""
BEAT_POOLING = f"beat readout behind the {POOLING}"
"""Version of the beat readout in the hash of its features."""
FULL_POOLING = f"full readout, 2, behind the {BEAT_POOLING}"
"""Version of the full readout in the hash of its features."""
RANDOM_SEED = 1_000_003
"""Seed of the random encoder. A training run is unlikely to use it."""


Reading = Literal[Readout, "concepts"]
"""Readout of the reference row, which other rows are compared with.

`concepts` is the beat readout, extended by a score for each class from the class's concepts.
"""
Reader = Callable[[str, MarEcg], Method]
"""Function from a name and an encoder to a method with this name, which computes the encoder's features."""


COMPUTED: dict[Reading, Literal["wide", "beats", "full"]] = {
    "rhythm": "wide", "wide": "wide", "beats": "beats", "concepts": "beats", "full": "full"
}  # fmt: skip
"""Readout that is computed for each readout of the reference row.

The features of all rows are parts of the computed readout.
"""


def encoder(model: MarEcg, readout: Reading = "wide") -> Method:
    """Return a `Method` that computes features with a frozen encoder: eval mode, no mask, no gradient.

    All rows are computed in the same forward passes:

    - h_rhythm and the wide readout
    - the mean of H, if the pool of h_rhythm is untrained
    - the beat readout, if `readout` is `beats`, `full` or `concepts`
    - the beat readout with the score of each class's concepts, if `readout` is `concepts`
    - the full readout, if `readout` is `full`; with the scores of concepts if there are prototypes
    - zero-shot scores, if there are prototypes
    """
    columns, computed = wide_columns(model.config), COMPUTED[readout]
    rows = {
        ENCODER: Row(columns["rhythm"]),
        WIDE: Row(columns_within(model.config, "wide", computed)),
    }
    if not model.pool.trained:
        rows[MEAN_H] = Row(columns["mean"])
    if readout in ("beats", "full", "concepts"):
        rows[BEATS] = _by_beats(model.config, computed)
    if readout == "concepts":
        rows[CONCEPTS] = _from_concepts(model, _by_beats(model.config, computed), "beats")
    if readout == "full":
        rows[FULL] = _by_views(model.config)
    if model.ontology and model.prototypes.any():
        if readout == "full":
            rows[FULL] = _from_concepts(model, rows[FULL], "full")
        read: Readout = "rhythm" if concept_scores_of(model, readout) is None else computed
        read_columns = columns_within(model.config, read, computed)
        rows[ZERO_SHOT] = Row(read_columns, without_labels=partial(_unlearnt, model, read))

    def check(task: Task) -> None:
        if readout == "concepts" and not _has_concepts(model, task):
            problem = "readout=concepts needs a class with a concept in the model's graph, got none"
            raise InputError(problem, where=task.name, remedy="Set readout=beats")

    return replace(_frozen(ENCODER, model, rows, readout), check=check)


def concept_scores_of(model: MarEcg, readout: Reading) -> ConceptScores | None:
    """Return the concept scores that are used with a readout, or None if only the prototypes are used."""
    return None if COMPUTED[readout] == "wide" else model.concept_scores


def read_alike(model: MarEcg, readout: Reading, reader: Reader | None = None) -> tuple[Method, Method]:
    """Return a `Method` for an encoder, and a `Method` for its random control, with the same readout.

    If `reader` (`Protocol.reader`) isn't None, it makes both, and `readout` is ignored.
    """
    if reader is None:
        return encoder(model, readout), random_control(model, readout)
    return reader(ENCODER, model), reader(RANDOM, _blank(model))


def _blank(model: MarEcg) -> MarEcg:
    """Return an untrained encoder of the model's shape, on the model's device."""
    return random_encoder(model.config, ontology=model.ontology).to(model.prototypes.device)


def random_control(model: MarEcg, readout: Reading = "rhythm") -> Method:
    """Return a `Method` that computes features with an untrained encoder of the model's shape.

    Its rows are h_rhythm and `readout`. An untrained encoder has no concepts. So the readout `concepts` is
    replaced by the beat readout.
    """
    config, readout = model.config, "beats" if readout == "concepts" else readout
    row_of = {"wide": Row(), "beats": _by_beats(config, "beats"), "full": _by_views(config)}
    rows = {RANDOM: Row(wide_columns(config)["rhythm"])}
    if readout != "rhythm":
        rows[f"{RANDOM}, {readout}"] = row_of[readout]
    return _frozen(RANDOM, _blank(model), rows, readout)


def random_encoder(config: ModelConfig, seed: int = RANDOM_SEED, ontology: Ontology | None = None) -> MarEcg:
    """Return an untrained encoder, without changing torch's random state."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return MarEcg(config, ontology).eval()


def _by_beats(config: ModelConfig, computed: Readout) -> Row:
    """Return the row of the beat readout. Its parts have equal weights."""
    return Row(columns_within(config, "beats", computed), part_weights(config, "beats"))


def _by_views(config: ModelConfig) -> Row:
    """Return the row of the full readout, with a classifier per view.

    A view is a range of the features (`marecg.model.readout.views`). The classifier of the view with the
    measured values doesn't use the scores of concepts.
    """
    *of_encoder, measured = views(config, "full")
    with_concepts = (*((columns, True) for columns in of_encoder), (measured, False))
    weight_F = part_weights(config, "full")
    weight_F[measured] = 1  # the view has a single part, so there is nothing to balance
    return Row(slice(None), weight_F, partial(choose_averaged, views=with_concepts))


def _from_concepts(model: MarEcg, row: Row, readout: Readout) -> Row:
    """Return a row whose classifiers also use the score of each class's concepts."""
    of_classes = partial(_concept_scores, model, readout)
    return replace(row, of_classes=of_classes, own_weight=np.sqrt(model.config.width))


def _frozen(name: str, model: MarEcg, rows: Mapping[str, Row], reading: Reading) -> Method:
    before, verify = stays_frozen(name, model)
    read = COMPUTED[reading]

    def compute(signals: Signals) -> NDArray[np.floating]:
        wide_BV = np.zeros((len(signals), readout_width(model.config, read)), np.float32)
        lengths = np.array([x_CL.shape[1] for x_CL in signals])
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            wide_BV[rows] = embed(model, np.stack([signals[r] for r in rows]), fs=FS, readout=read).wide
        return wide_BV

    measured_by = handcrafted().sha256
    pooling = {"full": f"{FULL_POOLING} {measured_by}", "beats": BEAT_POOLING, "wide": POOLING}[read]
    sha256 = hashlib.sha256(f"{pooling} {before}".encode()).hexdigest()
    return Method(name, sha256, compute, verify=verify, rows=rows, apart=threadless(model))


def stays_frozen(name: str, model: MarEcg) -> tuple[str, Callable[[], None]]:
    """Return a hash of a model's weights, and a check that raises `CheckpointError` if they have changed.

    `name` is what the error message calls the model.
    """
    before = weights_sha256(model)

    def verify() -> None:
        if weights_sha256(model) != before:
            remedy = "No scores were written, because the encoder wasn't frozen. Please report this bug"
            raise CheckpointError(f"the {name} changed while it was probed", remedy=remedy)

    return before, verify


def _concept_scores(model: MarEcg, readout: Readout, x_MF: NDArray[np.float32], task: Task) -> Floats:
    """Return the concept scores of each class, [M, K]."""
    return zero_shot(model, x_MF, task, model.ontology, readout=readout, family=False).logits_MK


def _unlearnt(model: MarEcg, readout: Readout, x_MF: NDArray[np.float32], task: Task) -> Trial | None:
    """Return the zero-shot trial, or None if no class has concepts."""
    if not _has_concepts(model, task):
        return None
    return zero_shot(model, x_MF, task, model.ontology, readout=readout)


def _has_concepts(model: MarEcg, task: Task) -> bool:
    return any(known_concepts(task, name, model.ontology) for name in task.classes)


def zero_shot(
    model: MarEcg,
    x_MF: NDArray[np.floating],
    task: Task,
    onto: ecg_ontology.Ontology,
    *,
    readout: Readout = "rhythm",
    family: bool = True,
) -> Trial:
    """Score records for all classes of a task, without learning from labels.

    If a class has no concept, or the model's graph lacks a concept of the class, all records get the same
    score, and the class counts as untrained.

    Args:
        model: the encoder.
        x_MF: readout of each record.
        task: task with the concepts of each class.
        onto: ontology of the model.
        readout: name of the readout in `x_MF`. With `beats` or `full`, the model's `concept_scores` are used
            if it has any. Otherwise, only the prototypes are used.
        family: how to score a class whose concepts are all in `by_family.judged_by_family`, which lists
            leaves without training records. If True, q is summed over their families (a family is a root
            concept with all concepts below it). If False, q is summed over the class's concepts, as in the
            row `encoder, beats + concepts`.

    Raises:
        UsageError: the model has no prototypes, because it was trained without the objective GSCL.
    """
    began = time.perf_counter()
    log_q_MN = log_q(model, x_MF[:, columns_within(model.config, "rhythm", readout)])
    scores = model.concept_scores
    number = {node.abbr: node.index for node in onto.nodes}
    concepts = [known_concepts(task, name, onto) for name in task.classes]
    score_MK = np.full((len(x_MF), len(concepts)), UNSEEN_LOGIT)
    without_record = set(judged_by_family(model)) if family else set()
    for k, names in enumerate(concepts):
        leaves = summed = [number[abbr] for abbr in names]
        if summed and without_record.issuperset(summed):
            summed = family_of(model, summed)
        if summed and scores and readout in TAUGHT:
            score_MK[:, k] = scores.of_class(log_q_MN, x_MF, readout, summed, leaves, onto.families)
        elif summed:
            score_MK[:, k] = logsumexp(log_q_MN[:, summed], axis=1)
    return Trial(
        fraction=0.0,
        seed=0,
        train=np.zeros(0, np.int64),
        chosen=None,
        val_auc=None,
        untrained=tuple(k for k, names in enumerate(concepts) if not names),
        logits_MK=score_MK,
        seconds=time.perf_counter() - began,
    )


def log_q(model: MarEcg, rhythm_MD: NDArray[np.floating]) -> Floats:
    """Return the log of q over the concepts, [M, N], from h_rhythm."""
    with torch.no_grad():
        logits_MN = model.concept_logits(torch.from_numpy(rhythm_MD).float().to(model.prototypes.device))
    return np.asarray(log_softmax(logits_MN.cpu().double().numpy(), axis=1))


def known_concepts(task: Task, name: str, onto: ecg_ontology.Ontology) -> tuple[str, ...]:
    """Return the concepts of a class, or () if the graph lacks any of them."""
    in_graph = {node.abbr for node in onto.nodes}
    concepts = task.concepts.get(name, ())
    return concepts if in_graph.issuperset(concepts) else ()
