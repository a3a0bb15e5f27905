"""An encoder with a linear head, as a PyTorch module that can be trained, saved and loaded.

The head's input is a readout of the encoder, a vector of features per record (`marecg.model.readout`).

Shapes: B batch, M records, C leads, L samples, K classes, W values of the readout.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ecg_records.signal.leads import LEADS
from marecg.base.device import named_device
from marecg.errors import UsageError
from marecg.model import saved_head
from marecg.model.folder import tensors_of
from marecg.model.mar_ecg import WEIGHT_DECAY, MarEcg, groups
from marecg.model.readout import Features, Readout, readout_width


class Classifier(nn.Module):
    """Encoder with a linear head that maps its standardised readout to K logits; see `MarEcg.classifier`.

    Attributes:
        model: encoder. It isn't copied, so training changes it for all other users of the same encoder.
        head: linear map.
    """

    mean_W: Tensor
    scale_W: Tensor

    def __init__(self, model: MarEcg, classes: int, readout: Readout = "wide") -> None:
        super().__init__()
        self.model, self.readout = model, readout
        width = readout_width(model.config, readout)
        dtype = model.prototypes.dtype
        self.head = nn.Linear(width, classes, dtype=dtype)
        self.register_buffer("mean_W", torch.zeros(width, dtype=dtype))
        self.register_buffer("scale_W", torch.ones(width, dtype=dtype))

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
            x: as for `MarEcg.forward`.
            n_valid: samples of each record before its padding, as for `MarEcg.forward`.
            absent: leads to hide, as for `MarEcg.forward`.
            leads: names of x's leads, as for `MarEcg.forward`.
        """
        return self.read(self._read_out(self.model(x, n_valid, absent, leads=leads)))

    def of_windows(self, x_BCL: Tensor, n_valid_B: Tensor, absent_BC: Tensor) -> Tensor:
        """Return the logits [B, K] of single windows. The arguments are as for `MarEcg.of_windows`."""
        return self.read(self._read_out(self.model.of_windows(x_BCL, n_valid_B, absent_BC)))

    def read(self, x_BW: Tensor) -> Tensor:
        """Return the logits, [B, K], of records whose readouts are given."""
        standardised_BW = (x_BW - self.mean_W) / self.scale_W
        return self.head(standardised_BW.to(self.head.weight.dtype))  # type: ignore[no-any-return]

    @torch.no_grad()
    def logits(self, x_MW: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logits of records, float64 [M, K].

        Args:
            x_MW: readouts, each averaged over the windows of a record (`tta_windows`).
        """
        logits_MK = self.read(torch.from_numpy(x_MW).float().to(self.mean_W.device))
        return np.asarray(logits_MK.double().cpu().numpy())

    @torch.no_grad()
    def standardise(self, x: Tensor, n_valid: Tensor | None = None, *, leads: Sequence[str] = LEADS) -> Self:
        """Set the mean and scale of the readout from training records, so that all values have equal weight.

        Args:
            x: a few dozen records, as for `forward`.
            n_valid: samples of each record before its padding.
            leads: names of x's leads.
        """
        x_BW = self._read_out(self.model(x, n_valid, leads=leads))
        self.mean_W.copy_(x_BW.mean(0))
        self.scale_W.copy_(x_BW.std(0, correction=0).clamp(min=1e-3))
        return self

    def save_pretrained(self, save_directory: str | Path) -> None:
        """Write the encoder and the head into a folder, completely or not at all.

        `from_pretrained` loads the folder.

        Args:
            save_directory: folder to create. It is replaced if it contains a classifier.

        Raises:
            OutputError: If the folder can't be written.
            UsageError: If the folder contains other files, which would be lost.
            CheckpointError: If a weight isn't finite. Nothing is written.
        """
        content = {"classes": self.head.out_features, "readout": self.readout}
        head = saved_head.Head.model_validate(content)
        saved_head.write(Path(save_directory), self.model, head, self.own())

    def push_to_hub(
        self, repo_id: str, *, private: bool | None = None, token: str | bool | None = None
    ) -> str:
        """Upload the classifier to the Hugging Face hub, and return the address of the upload.

        Args:
            repo_id: owner/name.
            private: whether a new repository is private.
            token: access token. The token of `hf auth login` if None.
        """
        return saved_head.push(self, repo_id, private=private, token=token)

    @classmethod
    def from_pretrained(cls, name: str | Path, *, device: str | torch.device = "cpu", **how: Any) -> Self:
        """Load a classifier in eval mode.

        Args:
            name: folder written by `save_pretrained`, or owner/name on the Hugging Face hub.
            device: device for the weights, for example `cuda`.
            how: download options: `revision`, `token`, `cache_dir`, `local_files_only`.

        Raises:
            CheckpointError: If the classifier is missing or damaged.
            UsageError: If the device isn't available.
        """
        folder = saved_head.fetched(name, **how)
        head = saved_head.read(folder)
        net = cls(MarEcg.from_pretrained(folder / "model"), head.classes, head.readout)
        tensors = tensors_of(folder / saved_head.TENSORS, net.own(), head.weights, saved_head.AGAIN)
        net.load_state_dict({**net.state_dict(), **tensors})
        net.model.to_concepts.requires_grad_(False)  # not used by the head, so it gets no gradient
        return net.eval().to(named_device(device))

    def own(self) -> dict[str, Tensor]:
        """Return the tensors outside the encoder: the head, and the readout's mean and standard deviation."""
        return {name: value for name, value in self.state_dict().items() if not name.startswith("model.")}

    def param_groups(
        self, lr: float, decay: float = 0.75, weight_decay: float = WEIGHT_DECAY, *, head: float = 1.0
    ) -> list[dict[str, Any]]:
        """Return parameter groups for an optimiser: the head's group, then the encoder's groups.

        Args:
            lr: learning rate of the pool, the encoder's last layer.
            decay: as for `MarEcg.param_groups`.
            weight_decay: weight decay of matrices. Vectors have no decay.
            head: ratio of the head's learning rate to `lr`.
        """
        return [
            *groups([self.head], lr * head, weight_decay),
            *self.model.param_groups(lr, decay, weight_decay),
        ]

    def _read_out(self, features: Features) -> Tensor:
        return features.rhythm if self.readout == "rhythm" else features.wide


def trainable_readout(readout: str) -> Readout:
    """Return the readout if gradients can flow through it. Raises `UsageError` for any other readout."""
    if readout in ("rhythm", "wide"):
        return readout  # type: ignore[return-value]
    if readout in ("beats", "full"):
        problem = f"readout must be wide or rhythm, got {readout}, which needs R-peaks"
        raise UsageError(problem, remedy="For other readouts, fit marecg.EcgClassifier")
    raise UsageError(f"unknown readout {readout!r}", remedy="Choose wide or rhythm")
