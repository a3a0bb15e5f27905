"""The encoder under test, and a random one of the same architecture, as ways from signals to features.

Shapes: B recordings, D width, C leads, L samples.
"""

import hashlib
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from marecg.config import ModelConfig
from marecg.errors import CheckpointError
from marecg.evaluate.methods.method import Method, Signals
from marecg.evaluate.tasks.task import FS
from marecg.model.mar_ecg import MarEcg
from marecg.use.embed import embed

POOLING = "h_rhythm, mean over windows of the encoder's context, 1"
"""What is read from the encoder. Its number goes up when that changes, and kept features are left behind."""
RANDOM_SEED = 1_000_003
"""The random encoder's seed: none that a training run would use by habit."""


def encoder(name: str, model: MarEcg) -> Method:
    """h_rhythm of a strictly frozen encoder: eval mode, nothing masked, no gradient.

    Its `verify` raises `CheckpointError` once a parameter or a buffer isn't what it was here.
    """
    before = weights_sha256(model)

    def verify() -> None:
        if weights_sha256(model) != before:
            remedy = "The numbers would be another encoder's, so none are kept; please report this"
            raise CheckpointError(f"the {name} changed while it was probed", remedy=remedy)

    sha256 = hashlib.sha256(f"{POOLING} {before}".encode()).hexdigest()
    return Method(name, sha256, _frozen(model), verify=verify)


def random_encoder(config: ModelConfig, seed: int = RANDOM_SEED) -> MarEcg:
    """An encoder that has learnt nothing; torch's own random state is left as it was."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return MarEcg(config).eval()


def weights_sha256(model: MarEcg) -> str:
    """What a model is: its shape, and every parameter and buffer by name."""
    digest = hashlib.sha256(model.config.model_dump_json().encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()


def _frozen(model: MarEcg) -> Callable[[Signals], NDArray[np.floating]]:
    def compute(signals: Signals) -> NDArray[np.floating]:
        h_BD = np.zeros((len(signals), model.config.width), np.float32)
        lengths = np.array([x_CL.shape[1] for x_CL in signals])
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            h_BD[rows] = embed(model, np.stack([signals[row] for row in rows]), fs=FS).rhythm
        return h_BD

    return compute
