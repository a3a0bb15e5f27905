"""Classifier for fine-tuning: a head on an encoder as one module, and the learning rates of both.

Shapes: B records or windows, M records, C leads, L samples, K classes, W readout.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from marecg.base.config import LEADS
from marecg.base.errors import UsageError
from marecg.model.readout import Readout, readout_width

if TYPE_CHECKING:
    from marecg.model.mar_ecg import MarEcg
    from marecg.model.window_encoder import Features

WEIGHT_DECAY = 0.05
"""AdamW's, of matrices alone, as BEiT and MAE fine-tune with."""


class Classifier(nn.Module):
    """Linear map of an encoder's standardised readout to K logits (`MarEcg.classifier` makes one).

    Attributes:
        model: the encoder, not a copy: training it here trains it there.
        head: the linear map.
    """

    mean_W: Tensor
    scale_W: Tensor

    def __init__(self, model: "MarEcg", classes: int, readout: Readout = "wide") -> None:
        super().__init__()
        self.model, self.readout = model, readout
        width = readout_width(model.config, readout)
        self.head = nn.Linear(width, classes)
        self.register_buffer("mean_W", torch.zeros(width))
        self.register_buffer("scale_W", torch.ones(width))

    def forward(
        self,
        x: Tensor,
        n_valid: Tensor | None = None,
        absent: Tensor | None = None,
        *,
        leads: Sequence[str] = LEADS,
    ) -> Tensor:
        """Return the logits [B, K] of whole records.

        Args:
            x: as for `MarEcg.forward`, and so are the others.
            n_valid: samples of each record before its padding.
            absent: the leads to hide.
            leads: the names of x's leads.
        """
        return self.read(self._read_out(self.model(x, n_valid, absent, leads=leads)))

    def of_windows(self, x_BCL: Tensor, n_valid_B: Tensor, absent_BC: Tensor) -> Tensor:
        """Return the logits [B, K] of single windows, as `MarEcg.of_windows` takes them."""
        return self.read(self._read_out(self.model.of_windows(x_BCL, n_valid_B, absent_BC)))

    def read(self, x_BW: Tensor) -> Tensor:
        """Return the logits [B, K] of readouts."""
        return self.head((x_BW - self.mean_W) / self.scale_W)  # type: ignore[no-any-return]

    @torch.no_grad()
    def logits(self, x_MW: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logits of records, float64 [M, K], from their readouts averaged over `tta_windows`."""
        logits_MK = self.read(torch.from_numpy(x_MW).float().to(self.mean_W.device))
        return np.asarray(logits_MK.double().cpu().numpy())

    @torch.no_grad()
    def standardise(self, x: Tensor, n_valid: Tensor | None = None, *, leads: Sequence[str] = LEADS) -> Self:
        """Standardise the readout by its mean and spread over training records: its parts then count alike.

        Args:
            x: some dozens of records, as for `forward`.
            n_valid: samples of each record before its padding.
            leads: the names of x's leads.
        """
        x_BW = self._read_out(self.model(x, n_valid, leads=leads))
        self.mean_W.copy_(x_BW.mean(0))
        self.scale_W.copy_(x_BW.std(0, correction=0).clamp(min=1e-3))
        return self

    def param_groups(
        self, lr: float, decay: float = 0.75, weight_decay: float = WEIGHT_DECAY, *, head: float = 1.0
    ) -> list[dict[str, Any]]:
        """Return groups for an optimiser: the head at `head` times the rate, and the encoder's groups.

        Args:
            lr: learning rate of the encoder's pool.
            decay: as for `MarEcg.param_groups`.
            weight_decay: of matrices; vectors have none.
            head: the head's rate over `lr`.
        """
        return [
            *groups([self.head], lr * head, weight_decay),
            *self.model.param_groups(lr, decay, weight_decay),
        ]

    def _read_out(self, features: "Features") -> Tensor:
        return features.rhythm if self.readout == "rhythm" else features.wide


def groups(modules: Sequence[nn.Module], lr: float, weight_decay: float) -> list[dict[str, Any]]:
    """Return the trainable parameters of modules, in a group with weight decay (matrices) and one without."""
    parameters = [one for module in modules for one in module.parameters() if one.requires_grad]
    made = (
        {"params": [one for one in parameters if (one.ndim > 1) == matrices], "lr": lr, "weight_decay": decay}
        for matrices, decay in ((True, weight_decay), (False, 0.0))
    )
    return [group for group in made if group["params"]]


def trainable_readout(readout: str) -> Readout:
    """Check that gradients pass a readout, and return it. Raises `UsageError` for another."""
    if readout in ("rhythm", "wide"):
        return readout  # type: ignore[return-value]
    if readout in ("beats", "full"):
        problem = f"{readout} needs R-peaks, which no module finds"
        raise UsageError(problem, remedy="Choose wide or rhythm, or fit marecg.EcgClassifier")
    raise UsageError(f"there is no readout {readout!r}", remedy="Choose wide or rhythm")
