"""The encoder as a PyTorch module, `MarEcg`, which takes whole records and can be fine-tuned.

Shapes: B batch, M records, C leads, K input leads, or classes, L samples, T patches, D width, W wide readout,
X leads of all records, U windows of all records.
"""

from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from ecg_records.signal.leads import LEADS, lead_places
from ecg_records.signal.samples import resample
from marecg.base.device import named_device
from marecg.errors import CheckpointError, UsageError
from marecg.model import saved_head
from marecg.model.readout import Features, Readout, readout_width
from marecg.model.window_encoder import WindowEncoder
from marecg.model.windows import cut, mean_of, overlapped_records, required_rate
from marecg.nn.encoder import being_traced

WEIGHT_DECAY = 0.05
"""AdamW's weight decay, applied to matrices only; BEiT and MAE fine-tune with this value."""


class MarEcg(WindowEncoder):
    """Encoder of whole records as a PyTorch module. `classifier` adds a head.

    Args:
        config: shape of the model. `marecg.recipes.c3().model` is the paper's shape.
        ontology: concepts of the prototypes, in their order. The packaged ontology if None.

    Example:
        >>> from marecg import recipes
        >>> model = MarEcg(recipes.tiny().model)
        >>> model.config.width, tuple(model.prototypes.shape)
        (64, (40, 32))
        >>> model(torch.randn(2, 3, 5000), leads=["II", "V1", "V5"]).rhythm.shape
        torch.Size([2, 64])
    """

    def forward(
        self,
        x: Tensor,
        n_valid: Tensor | None = None,
        absent: Tensor | None = None,
        *,
        leads: Sequence[str] = LEADS,
    ) -> Features:
        """Encode whole records with gradients, and return the features of `marecg.embed` as tensors.

        A record longer than the context is read in windows, each at `config.phases` offsets. The features of
        the windows are averaged. A shorter record is padded, and the padding is hidden from the encoder.

        Args:
            x: [B, C, L] in mV at `config.fs`; see `resample`. L is at least one patch.
            n_valid: int64 [B], samples of each record before its padding. All L samples if None.
            absent: bool [B, C], leads to hide in single records. No lead if None.
            leads: names of the C leads, in any order; case doesn't matter. All other leads are hidden.

        Returns:
            `rhythm` [B, D], `patch` (H̄) [B, T, D] and the blocks of the wide readout, which `wide` [B, W]
            concatenates. H̄ is zero after a record's last patch.

        Raises:
            UsageError: If x has another type or shape, a lead is unknown, or a record lacks a full patch.
        """
        x_BCL, absent_BC = self._placed(x, absent, lead_places(leads))
        records, length = x_BCL.shape[0], x_BCL.shape[-1]
        n_valid_B = torch.full((records,), length, device=x.device)
        if n_valid is not None:
            n_valid_B = self._checked(n_valid, length)
        windows = cut(x_BCL, n_valid_B, absent_BC, self.config)
        features = self.of_windows(windows.x_UCL, windows.n_valid_U, windows.absent_UC)
        patch_BTD = overlapped_records(features.patch, windows, n_valid_B, length, self.config)
        blocks = {name: mean_of(x_UV, windows.row_U, records) for name, x_UV in features.blocks.items()}
        return Features.of(patch_BTD, blocks)

    def resample(self, signals: ArrayLike, fs: float | None = None) -> Tensor:
        """Return signals in mV, resampled to the rate of `forward`, float32 [B, C, L] on the CPU.

        Args:
            signals: [B, C, L] in mV.
            fs: sampling rate of the signals in Hz. Required.

        Raises:
            UsageError: If the rate is missing or impossible.
        """
        x_BCL = np.asarray(signals, np.float32)
        flat_XL = resample(x_BCL.reshape(-1, x_BCL.shape[-1]), required_rate(fs), self.config.fs)
        return torch.from_numpy(flat_XL.reshape(*x_BCL.shape[:-1], -1))

    def num_features(self, readout: Readout = "rhythm") -> int:
        """Return the number of values in a record's readout.

        Args:
            readout: `rhythm` or `wide`, or a readout that only `embed` returns: `beats` or `full`.
        """
        return readout_width(self.config, readout)

    def classifier(self, n_classes: int, readout: Readout = "wide") -> "Classifier":
        """Return a module with a new linear head on this encoder. Its output is logits [B, n_classes].

        The module shares the encoder; it doesn't copy it.

        Args:
            n_classes: K.
            readout: input of the head, `wide` or `rhythm`.

        Raises:
            UsageError: If the readout or the number of classes is invalid.
        """
        if not isinstance(n_classes, Integral) or n_classes < 1:
            raise UsageError(
                f"n_classes must be a positive integer, got {n_classes!r}", remedy="Give a number from 1"
            )
        self.to_concepts.requires_grad_(False)  # not used by the head, so it gets no gradient
        head = Classifier(self, int(n_classes), trainable_readout(readout))
        return head.to(self.prototypes.device)

    def freeze(self, blocks: int | None = None) -> Self:
        """Freeze the tokens and the lowest blocks, or the whole model, and return the model.

        Args:
            blocks: number of blocks to freeze. The whole model if None.
        """
        frozen: list[nn.Module] = [self] if blocks is None else [self.tokens, *self.encoder.blocks[:blocks]]
        for module in frozen:
            module.requires_grad_(False)
        return self

    def param_groups(
        self, lr: float, decay: float = 0.75, weight_decay: float = WEIGHT_DECAY
    ) -> list[dict[str, Any]]:
        """Return parameter groups for an optimiser, with learning rates that fall from layer to layer.

        Frozen parameters are left out.

        Args:
            lr: learning rate of the pool.
            decay: ratio of a layer's rate to the rate of the layer above. The tokens are the lowest layer.
            weight_decay: weight decay of matrices. Vectors have no decay.
        """
        blocks = [[block] for block in reversed(self.encoder.blocks)]
        above: list[list[nn.Module]] = [[self.pool, self.encoder.norm], *blocks, [self.tokens]]
        return [
            group
            for level, modules in enumerate(above)
            for group in groups(modules, lr * decay**level, weight_decay)
        ]

    def _checked(self, n_valid: Tensor, length: int) -> Tensor:
        """Check the number of samples of each record, unless the network is being traced."""
        if being_traced():
            return n_valid
        if bool((n_valid > length).any() or (n_valid < self.config.patch).any()):
            least, most = int(n_valid.min()), int(n_valid.max())
            problem = f"n_valid is {least} to {most} in records of {length} samples"
            raise UsageError(problem, remedy=f"Give {self.config.patch}, one patch, to {length}")
        return n_valid

    def _placed(self, x: Tensor, absent: Tensor | None, places: list[int]) -> tuple[Tensor, Tensor]:
        """Return the signals in the encoder's lead order and dtype, [B, C, L], and a mask of absent leads."""
        if not isinstance(x, Tensor) or x.ndim != 3 or x.shape[1] != len(places):
            given = f"shape {tuple(x.shape)}" if isinstance(x, Tensor) else f"type {type(x).__name__}"
            remedy = "Give a tensor [records, leads, samples] in mV, and leads=; arrays go to marecg.embed"
            raise UsageError(f"x has {given}, and {len(places)} leads are named", remedy=remedy)
        if x.shape[-1] < self.config.patch:
            least = f"{self.config.patch} samples at {self.config.fs} Hz"
            raise UsageError(
                f"x has {x.shape[-1]} samples, less than one patch", remedy=f"Give at least {least}"
            )
        x = x.to(self.prototypes.dtype)
        if places == list(range(len(LEADS))):
            return x, x.new_zeros(x.shape[:2], dtype=torch.bool) if absent is None else absent
        place_K = torch.tensor(places, device=x.device)
        x_BCL = x.new_zeros(x.shape[0], len(LEADS), x.shape[-1]).index_copy(1, place_K, x)
        absent_BC = x.new_ones(x_BCL.shape[:2], dtype=torch.bool)
        hidden = absent if absent is not None else x.new_zeros(x.shape[:2], dtype=torch.bool)
        return x_BCL, absent_BC.index_copy(1, place_K, hidden)


class Classifier(nn.Module):
    """Linear map from an encoder's standardised readout to K logits; see `MarEcg.classifier`.

    Attributes:
        model: encoder, shared with its other users: training changes it for all of them.
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
        """Return the logits [B, K] of readouts."""
        standardised_BW = (x_BW - self.mean_W) / self.scale_W
        return self.head(standardised_BW.to(self.head.weight.dtype))  # type: ignore[no-any-return]

    @torch.no_grad()
    def logits(self, x_MW: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logits of records, float64 [M, K], from readouts averaged over `tta_windows`."""
        logits_MK = self.read(torch.from_numpy(x_MW).float().to(self.mean_W.device))
        return np.asarray(logits_MK.double().cpu().numpy())

    @torch.no_grad()
    def standardise(self, x: Tensor, n_valid: Tensor | None = None, *, leads: Sequence[str] = LEADS) -> Self:
        """Set the readout's mean and scale from training records, so that all values count alike.

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
        saved_head.write(Path(save_directory), self.model, head, self._own())

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
        head, tensors = saved_head.read(folder)
        net = cls(MarEcg.from_pretrained(folder / "model"), head.classes, head.readout)
        own = {name: tensor.shape for name, tensor in net._own().items()}
        if own != {name: tensor.shape for name, tensor in tensors.items()}:
            problem = "head.safetensors, head.json and the model don't fit each other"
            raise CheckpointError(problem, where=folder, remedy="Save the classifier again")
        net.load_state_dict({**net.state_dict(), **tensors})
        net.model.to_concepts.requires_grad_(False)  # not used by the head, so it gets no gradient
        return net.eval().to(named_device(device))

    def _own(self) -> dict[str, Tensor]:
        """Return the tensors outside the encoder: the head, and the readout's mean and standard deviation."""
        return {name: value for name, value in self.state_dict().items() if not name.startswith("model.")}

    def param_groups(
        self, lr: float, decay: float = 0.75, weight_decay: float = WEIGHT_DECAY, *, head: float = 1.0
    ) -> list[dict[str, Any]]:
        """Return parameter groups for an optimiser: the head's group, then the encoder's groups.

        Args:
            lr: learning rate of the encoder's pool.
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


def groups(modules: Sequence[nn.Module], lr: float, weight_decay: float) -> list[dict[str, Any]]:
    """Return the trainable parameters in two groups: matrices with weight decay, vectors without."""
    parameters = [one for module in modules for one in module.parameters() if one.requires_grad]
    made = (
        {"params": [one for one in parameters if (one.ndim > 1) == matrices], "lr": lr, "weight_decay": decay}
        for matrices, decay in ((True, weight_decay), (False, 0.0))
    )
    return [group for group in made if group["params"]]


def trainable_readout(readout: str) -> Readout:
    """Return the readout if gradients can flow through it. Raises `UsageError` for any other readout."""
    if readout in ("rhythm", "wide"):
        return readout  # type: ignore[return-value]
    if readout in ("beats", "full"):
        problem = f"{readout} needs R-peaks, which no module finds"
        raise UsageError(problem, remedy="Choose wide or rhythm, or fit marecg.EcgClassifier")
    raise UsageError(f"unknown readout {readout!r}", remedy="Choose wide or rhythm")
