"""A task's classes read off the concept prototypes, without a single labelled record (eq. gscl-pred).

q = softmax(⟨W_sca h_rhythm, p_c⟩/τ) over the concepts; a class's score is the log of the mass on the concepts
that the task gives it (`Task.concepts`); a class may have none.
Shapes: M records, K classes, N concepts, D width.
"""

import time

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

import ecg_ontology
from marecg.evaluate.probe.linear import UNSEEN_LOGIT
from marecg.evaluate.scores.summary import Trial
from marecg.evaluate.tasks.task import Task
from marecg.model.mar_ecg import MarEcg


def zero_shot(
    model: MarEcg, rhythm_MD: NDArray[np.floating], task: Task, onto: ecg_ontology.Ontology
) -> Trial:
    """Score every record for every class.

    A class without a concept, or with one that the model's graph lacks, scores all alike and counts as
    untrained.

    Args:
        model: one that was trained with GSCL.
        rhythm_MD: h_rhythm of the records.
        task: whose classes are asked for.
        onto: the ontology that the model carries; abbreviations are looked up there.

    Raises:
        UsageError: the model was trained without GSCL and has no prototypes.
    """
    began = time.perf_counter()
    device = model.prototypes.device
    with torch.no_grad():
        logits_MN = model.concept_logits(torch.from_numpy(rhythm_MD).float().to(device))
    log_q_MN = log_softmax(logits_MN.cpu().double().numpy(), axis=1)
    number = {node.abbr: node.index for node in onto.nodes}
    concepts = [known_concepts(task, name, onto) for name in task.classes]
    score_MK = np.full((len(rhythm_MD), len(concepts)), UNSEEN_LOGIT)
    for k, names in enumerate(concepts):
        if names:
            score_MK[:, k] = logsumexp(log_q_MN[:, [number[abbr] for abbr in names]], axis=1)
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


def known_concepts(task: Task, name: str, onto: ecg_ontology.Ontology) -> tuple[str, ...]:
    """The concepts that stand for a class; none where the graph lacks one of them."""
    in_graph = {node.abbr for node in onto.nodes}
    concepts = task.concepts.get(name, ())
    return concepts if in_graph.issuperset(concepts) else ()
