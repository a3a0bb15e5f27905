"""Protocol `attention`: train an attention pool over the tokens of a frozen encoder.

This is attentive probing (Chen et al. 2024, arXiv:2202.03026; Bardes et al. 2024, arXiv:2404.08471). Each
class has a query: logit_k = ⟨w_k, Σ_t softmax_t(⟨q_k, K h_t⟩ / √A) V h_t⟩ + b_k. The tokens are H̄, the
encoder's vectors of patches, averaged over leads. Features that are a single vector count as a single token,
for which the pool is a linear classifier. h_rhythm is the encoder's pooled vector of a record.

Shapes: B and M records, C leads, L samples, T tokens, D width of a token, E = D + 1 values of a token with
its mark (1 for a real token, 0 for padding), A width of the pool, K classes, F features.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ecg_records.signal.leads import LEADS
from marecg.embedding.embed import encode
from marecg.evaluate.methods.frozen_encoder import stays_frozen
from marecg.evaluate.methods.method import Method, Row, Signals
from marecg.evaluate.probe.best_round import fit_best
from marecg.evaluate.probe.linear import Fitted, Part, check_labels
from marecg.evaluate.probe.protocol import STRICT
from marecg.evaluate.scores.metrics import Floats, macro_auc, scorable
from marecg.evaluate.scores.summary import ENCODER
from marecg.evaluate.tasks.task import FS
from marecg.model.mar_ecg import MarEcg
from marecg.model.windows import arranged

TOKENS = f"{ENCODER}, tokens"
SECONDS = 10
"""Seconds of a record whose tokens are read."""
WIDTH = 64
DROPOUT = 0.25
"""Dropout of the pooled values."""
EPOCHS, PATIENCE_EPOCHS = 100, 10
STEP_RECORDS = 64
LEARNING_RATE = 1e-3
WEIGHT_DECAY = 1e-2
SEED = 0


class AttentionPool(nn.Module):
    """Attention pool from marked tokens [M, T, E] to logits [M, K]."""

    mean_D: Tensor
    std_D: Tensor

    def __init__(self, x_MTE: Tensor, classes: int, width: int = WIDTH, dropout: float = DROPOUT) -> None:
        """Initialise the pool. Tokens are standardised by the statistics of `x_MTE`."""
        super().__init__()
        std_D, mean_D = torch.std_mean(x_MTE[..., :-1][x_MTE[..., -1] > 0], 0, correction=0)
        self.register_buffer("mean_D", mean_D)
        self.register_buffer("std_D", std_D.clamp(min=1e-6))
        self.key = nn.Linear(len(mean_D), width, bias=False)
        self.value = nn.Linear(len(mean_D), width)
        self.query_KA = nn.Parameter(torch.randn(classes, width))
        self.weight_KA = nn.Parameter(torch.randn(classes, width) / width**0.5)
        self.bias_K = nn.Parameter(torch.zeros(classes))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x_MTE: Tensor) -> Tensor:
        """Return the logits [M, K] of tokens [M, T, E]."""
        h_MTD, real_M1T = (x_MTE[..., :-1] - self.mean_D) / self.std_D, x_MTE[:, None, :, -1] > 0
        score_MKT = self.query_KA @ self.key(h_MTD).mT / self.query_KA.shape[1] ** 0.5
        share_MKT = score_MKT.masked_fill(~real_M1T, -torch.inf).softmax(-1)
        pooled_MKA = self.dropout(share_MKT @ self.value(h_MTD))
        return torch.einsum("mka,ka->mk", pooled_MKA, self.weight_KA) + self.bias_K


def choose(train: Part, val: Part, width: int | None = None, epochs: int = EPOCHS) -> Fitted:
    """Train a pool with AdamW on binary cross-entropy, and keep the epoch with the best macro AUC on val.

    Training stops `PATIENCE_EPOCHS` epochs after the last improvement.

    Args:
        train: features and labels to train on.
        val: features and labels for choosing the epoch.
        width: width D of the tokens in the features; None if the features are a single token.
        epochs: maximum number of epochs.

    Raises:
        InputError: no class has both positives and negatives in val.
    """
    check_labels(val.y_MK, "validation")
    x_MTE, y_MK = as_tokens(train.x_MF, width), torch.from_numpy(train.y_MK).float()
    val_MTE = as_tokens(val.x_MF, width)
    with torch.random.fork_rng():
        torch.manual_seed(SEED)
        pool = AttentionPool(x_MTE, y_MK.shape[1])
        optimizer = torch.optim.AdamW(pool.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)

        def rounds() -> Iterator[int]:
            for epoch in range(1, epochs + 1):
                pool.train()
                for rows in torch.randperm(len(x_MTE)).split(STEP_RECORDS):  # type: ignore[no-untyped-call]
                    optimizer.zero_grad()
                    logits_MK = pool(x_MTE[rows])
                    nn.functional.binary_cross_entropy_with_logits(logits_MK, y_MK[rows]).backward()  # type: ignore[no-untyped-call]
                    optimizer.step()
                yield epoch

        epoch, val_auc = fit_best(
            pool, rounds(), lambda: macro_auc(val.y_MK, _logits(pool, val_MTE)), -1.0, PATIENCE_EPOCHS
        )
    untrained = tuple(np.flatnonzero(~scorable(train.y_MK)).tolist())
    return Fitted(epoch, val_auc, untrained, lambda x_MF: _logits(pool, as_tokens(x_MF, width)))


def as_tokens(x_MF: NDArray[np.floating], width: int | None) -> Tensor:
    """Return features as marked tokens [M, T, E]. If `width` is None, each record is a single token."""
    x = torch.from_numpy(np.asarray(x_MF, np.float32))
    if width is None:
        return torch.cat([x, torch.ones(len(x), 1)], 1)[:, None]
    return x.reshape(len(x), -1, width + 1)


def _logits(pool: AttentionPool, x_MTE: Tensor) -> Floats:
    pool.eval()
    with torch.no_grad():
        return np.asarray(pool(x_MTE).double())


def tokens(name: str, model: MarEcg) -> Method:
    """Return a method whose features are h_rhythm and the marked tokens of a record's first ten seconds."""
    before, verify = stays_frozen(name, model)
    config, most = model.config, SECONDS * FS
    width, n_tokens = config.width, config.patches(most)

    def compute(signals: Signals) -> NDArray[np.floating]:
        tokens_BTE = np.zeros((len(signals), n_tokens, width + 1), np.float32)
        rhythm_BD = np.zeros((len(signals), width), np.float32)
        recordings = (arranged(x_CL[:, :most], FS, LEADS, config) for x_CL in signals)
        for row, read in enumerate(encode(model, recordings, readout="rhythm")):
            tokens_BTE[row, : len(read.patch)] = np.c_[read.patch, np.ones(len(read.patch))]
            rhythm_BD[row] = read.rhythm
        return np.concatenate([rhythm_BD, tokens_BTE.reshape(len(signals), -1)], axis=1)

    return Method(
        name,
        hashlib.sha256(f"tokens, 1: {SECONDS} s {before}".encode()).hexdigest(),
        compute,
        verify=verify,
        rows={
            name: Row(slice(width)),
            f"{name}, tokens": Row(slice(width, None), choose=partial(choose, width=width)),
        },
    )


ATTENTION = replace(
    STRICT,
    name="attention",
    normalisation="signals in mV; each value of a token standardised on the drawn training records",
    choose=choose,
    reader=tokens,
    row=TOKENS,
)
"""Protocol `strict` with attention pools. MiniRocket keeps its ridge regression."""
