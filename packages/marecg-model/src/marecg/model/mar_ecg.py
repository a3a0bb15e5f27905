"""The model: a class with the paper's encoder, which encodes single windows or whole records.

The encoder's output H has a vector per patch and lead. H̄ is its mean over leads, and h_rhythm is the
embedding of a record. A readout is a vector of features per record: h_rhythm, or a longer vector that is made
of several blocks (`marecg.model.readout`).

Shapes: B batch, C leads, L samples, T patches, P samples per patch, D width, M bands of the modulation
spectrum, W values of the wide readout, V values of any block, J patches of a beat, N concepts, K concept
width (d_c) or input leads, X leads of all records, U windows of all records.
"""

from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from huggingface_hub import ModelCard, ModelHubMixin
from numpy.typing import ArrayLike
from torch import Tensor, nn

import ecg_ontology
from ecg_base import refuse_others, replacing
from ecg_ontology import Ontology
from ecg_records.signal.leads import LEADS, lead_places
from ecg_records.signal.samples import resample
from marecg.base.device import named_device
from marecg.errors import UsageError
from marecg.model.card import Provenance, model_card
from marecg.model.card_figures import Score
from marecg.model.concept_scores import ConceptScores
from marecg.model.config import ModelConfig
from marecg.model.folder import refuse_non_finite
from marecg.model.pretrained import REPLACEABLE, folder_named, load, write
from marecg.model.readout import Features, Readout, beat_blocks, part_blocks, readout_width, wide_blocks
from marecg.model.windows import cut, mean_of, overlapped_records, required_rate
from marecg.nn.attention import init_linear
from marecg.nn.concepts import concept_logits
from marecg.nn.encoder import Encoder, being_traced
from marecg.nn.modulation import modulation_spectrum
from marecg.nn.pooling import RhythmPool, lead_mean
from marecg.nn.revin import RevIN, Scale
from marecg.nn.tokens import Tokens, full_patches, patchify, silent_leads

if TYPE_CHECKING:
    from marecg.model.classifier import Classifier

WEIGHT_DECAY = 0.05
"""AdamW's weight decay, applied to matrices only; BEiT and MAE fine-tune with this value."""


class MarEcg(nn.Module, ModelHubMixin):
    """Encoder for 12-lead ECGs as a PyTorch module. Call `classifier` to add a head.

    Args:
        config: settings of the encoder. `marecg.recipes.c3().model` has the paper's settings.
        ontology: concepts of the prototypes, in their order. The packaged ontology if None.

    Raises:
        ConfigError: If `config.concepts` is neither None nor the number of concepts in the ontology.

    Example:
        >>> from marecg import recipes
        >>> model = MarEcg(recipes.tiny().model)
        >>> model.config.width, tuple(model.prototypes.shape)
        (64, (40, 32))
        >>> model(torch.randn(2, 3, 5000), leads=["II", "V1", "V5"]).rhythm.shape
        torch.Size([2, 64])
    """

    prototypes: Tensor

    def __init__(self, config: ModelConfig, ontology: Ontology | None = None) -> None:
        super().__init__()
        self.ontology = ontology or ecg_ontology.load()
        self.config = config = config.of_concepts(len(self.ontology))
        self.provenance: Provenance | None = None
        self.scores: tuple[Score, ...] = ()
        self.untaught_by_family: tuple[str, ...] = ()
        self.concept_scores: ConceptScores | None = None
        self.revin = RevIN(config.context, config.revin_eps)
        self.tokens = Tokens(
            len(LEADS), config.positions, config.patch, config.width, amplitude=config.amplitude
        )
        self.encoder = Encoder(config.width, config.depth, config.heads, config.mlp_ratio)
        self.pool = RhythmPool(config.width, config.queries, config.eta)
        self.to_concepts = nn.Linear(config.width, config.concept_width, bias=False)
        init_linear(self.to_concepts)
        self.register_buffer("prototypes", torch.zeros(len(self.ontology), config.concept_width))

    def forward(
        self,
        x: Tensor,
        n_valid: Tensor | None = None,
        absent: Tensor | None = None,
        *,
        leads: Sequence[str] = LEADS,
    ) -> Features:
        """Encode whole records with gradients, and return the features of `marecg.embed` as tensors.

        A record longer than the encoder's context is read in windows. Each window is read `config.phases`
        times, shifted by a fraction of the patch stride each time. The features of all windows are averaged.
        A shorter record is padded, and the padding is hidden from the encoder.

        Args:
            x: [B, C, L] in mV at `config.fs`; see `resample`. L is at least one patch.
            n_valid: int64 [B], samples of each record before its padding. All L samples if None.
            absent: bool [B, C], leads to hide in single records. No lead if None.
            leads: names of the C leads, in any order; case doesn't matter. All other leads are hidden.

        Returns:
            `rhythm` is h_rhythm, [B, D], and `patch` is H̄, [B, T, D]. `wide` is the wide readout, [B, W],
            whose blocks are also separate fields. H̄ is zero after a record's last patch.

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
        """Return a module with a new linear head on this encoder. The module returns logits [B, n_classes].

        The module shares the encoder; it doesn't copy it.

        Args:
            n_classes: number of classes.
            readout: input of the head, `wide` or `rhythm`.

        Raises:
            UsageError: If the readout or the number of classes is invalid.
        """
        if not isinstance(n_classes, Integral) or n_classes < 1:
            raise UsageError(
                f"n_classes must be a positive integer, got {n_classes!r}",
                remedy="Give the number of classes",
            )
        from marecg.model.classifier import Classifier, trainable_readout  # noqa: PLC0415 (a circular import)

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
            lr: learning rate of the pool, the highest layer.
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

    def of_windows(
        self,
        x_BCL: Tensor,
        n_valid_B: Tensor,
        absent_BC: Tensor | None = None,
        beats_BJT: Tensor | None = None,
        *,
        every_part: bool = False,
    ) -> Features:
        """Encode single windows in mV. Only padding and absent leads are masked.

        Args:
            x_BCL: signals in mV. L is from one patch to `config.positions` patches.
            n_valid_B: samples of each window before its padding.
            absent_BC: bool, leads to hide. Leads that are zero throughout are always hidden.
            beats_BJT: for each part j of a beat (`readout.BEAT`) and each patch t of the window, the number
                of beats whose part j is patch t.
            every_part: whether to also return the blocks of P, ST and T, and the amplitudes of all parts.
                Requires `beats_BJT`.

        Returns:
            H̄ and the blocks of the wide readout. If `beats_BJT` is given, also the blocks of the beat
            readout.
        """
        absent_BC = silent_leads(x_BCL, absent_BC)
        h_BTCD, real_BT, scale = self._encode(x_BCL, n_valid_B, absent_BC)
        rhythm_BD = self.pool(h_BTCD, real_BT)
        log_std_BC = scale.std_BC1[..., 0].log()
        blocks = wide_blocks(rhythm_BD, h_BTCD, log_std_BC, real_BT, absent_BC)
        if self.config.modulation:
            blocks["modulation"] = self._modulation(x_BCL, n_valid_B, absent_BC)
        if beats_BJT is not None:
            blocks |= beat_blocks(h_BTCD, beats_BJT)
            if every_part:
                mv_BTCP = patchify(x_BCL - scale.mean_BC1, self.config.patch, self.config.stride)
                blocks |= part_blocks(h_BTCD, mv_BTCP, beats_BJT)
        return Features.of(lead_mean(h_BTCD), blocks)

    def attention(self, x_BCL: Tensor, n_valid_B: Tensor, absent_BC: Tensor | None = None) -> Tensor:
        """Return the attention weight of each token in h_rhythm, averaged over the pool's queries, [B, T, C].

        The weights of a record sum to 1.

        Args:
            x_BCL: as for `of_windows`.
            n_valid_B: as for `of_windows`.
            absent_BC: as for `of_windows`.
        """
        h_BTCD, real_BT, _ = self._encode(x_BCL, n_valid_B, silent_leads(x_BCL, absent_BC))
        return self.pool.weights(h_BTCD, real_BT).mean(-1)

    def _encode(self, x_BCL: Tensor, n_valid_B: Tensor, absent_BC: Tensor) -> tuple[Tensor, Tensor, Scale]:
        """Return H [B, T, C, D], the mask of patches without padding [B, T], and RevIN's scale."""
        config = self.config
        x_BCL, scale = self.revin(x_BCL, n_valid_B)
        x_BTCP = patchify(x_BCL, config.patch, config.stride)
        real_BT = full_patches(n_valid_B, x_BTCP.shape[1], config.patch, config.stride)
        hidden_BTC = ~real_BT[..., None] | absent_BC[:, None]
        return self.encoder(self.tokens(x_BTCP, hidden_BTC, scale)), real_BT, scale

    def _modulation(self, x_BCL: Tensor, n_valid_B: Tensor, absent_BC: Tensor) -> Tensor:
        """Return the modulation spectrum of the present leads, [B, M]."""
        present_BCL = x_BCL.masked_fill(absent_BC[..., None], 0.0)
        return modulation_spectrum(present_BCL, n_valid_B, self.config.fs)

    def concept_logits(self, rhythm_BD: Tensor) -> Tensor:
        """Return the logits of q, the predicted distribution over the N concepts (eq. gscl-pred), [B, N].

        Args:
            rhythm_BD: h_rhythm of B records.

        Raises:
            UsageError: If the model was trained without codes, or without the objective that trains the
                prototypes (graph-smoothed contrastive learning, GSCL).
        """
        if not self.prototypes.any():
            raise UsageError(
                "the model has no concept prototypes, because it was trained without GSCL",
                remedy="Use a model that was trained with GSCL",
            )
        if self.provenance and self.provenance.support and not any(self.provenance.support.values()):
            raise UsageError(
                "the model's concept prototypes are untrained, because no training record had codes",
                remedy="Use a model that was trained on records with codes",
            )
        return concept_logits(self.to_concepts(rhythm_BD), self.prototypes, self.config.tau)

    def save_pretrained(
        self,
        save_directory: str | Path,
        *,
        repo_id: str | None = None,
        push_to_hub: bool = False,
        **push_to_hub_kwargs: Any,
    ) -> str | None:
        """Write the model and its card into a folder, completely or not at all, and optionally upload it.

        Args:
            save_directory: folder to create. It is replaced if it contains a model.
            repo_id: repository on the hub. The folder's name if None.
            push_to_hub: whether to upload.
            push_to_hub_kwargs: options of `push_to_hub`: `private`, `token`, `branch`, …

        Returns:
            Address of the upload, or None without an upload.

        Raises:
            OutputError: If the folder can't be written.
            UsageError: If the folder contains other files, which would be lost.
            CheckpointError: If a weight isn't finite. Nothing is written.
        """
        folder = Path(save_directory)
        refuse_non_finite(self.state_dict(), folder)
        refuse_others(folder, REPLACEABLE.__contains__)
        with replacing(folder) as temporary:
            super().save_pretrained(temporary)
        return self.push_to_hub(repo_id or folder.name, **push_to_hub_kwargs) if push_to_hub else None

    def _save_pretrained(self, save_directory: Path) -> None:
        write(self, save_directory)

    def generate_model_card(self, *args: Any, **kwargs: Any) -> ModelCard:
        """Return the card that `save_pretrained` writes as README.md.

        Args:
            *args: unused; required by the hub's interface.
            **kwargs: unused; required by the hub's interface.
        """
        gscl = bool(self.prototypes.any())
        own = self.concept_scores
        return model_card(
            self.config, self.ontology, self.provenance, self.scores, gscl=gscl, concept_scores=own
        )

    @classmethod
    def from_pretrained(
        cls,
        pretrained_model_name_or_path: str | Path,
        *,
        ontology: Ontology | None = None,
        force_download: bool = False,
        token: str | bool | None = None,
        cache_dir: str | Path | None = None,
        local_files_only: bool = False,
        revision: str | None = None,
        device: str | torch.device = "cpu",
        **model_kwargs: Any,
    ) -> Self:
        """Load a model in eval mode.

        Args:
            pretrained_model_name_or_path: folder written by `save_pretrained`, run folder, name of an
                installed model (`list_models`), or id (owner/name) of a repository on the Hugging Face hub.
                The hub isn't contacted for a local model.
            ontology: expected ontology. A model with other concepts, or another order of concepts, is
                refused. Not checked if None.
            force_download: download the files even if they are in the cache.
            token: access token for a private repository. The token of `hf auth login` if None.
            cache_dir: folder for downloads.
            local_files_only: use only cached files, without network.
            revision: branch, tag or commit on the hub.
            device: device for the weights, for example `cuda`.
            model_kwargs: unused; required by the hub's interface.

        Raises:
            UsageError: If the device isn't available.
            CheckpointError: If a file is missing or damaged, the leads or concepts have another order, or the
                download fails. Also if a tensor is missing, extra or not finite, or has another shape or
                type.
        """
        target = named_device(device)
        folder = folder_named(
            pretrained_model_name_or_path,
            model_kwargs,
            force_download=force_download,
            token=token,
            cache_dir=cache_dir,
            local_files_only=local_files_only,
            revision=revision,
        )
        return load(cls, folder, ontology).to(target)

    @property
    def id2label(self) -> dict[int, str]:
        """Label of each concept by its number, which is the concept's position in the model's predictions."""
        return {node.index: node.label for node in self.ontology.nodes}

    def _checked(self, n_valid: Tensor, length: int) -> Tensor:
        """Return the number of samples of each record. Raise `UsageError` if a number is out of range.

        While the network is traced, the numbers aren't checked.
        """
        if being_traced():
            return n_valid
        if bool((n_valid > length).any() or (n_valid < self.config.patch).any()):
            least, most = int(n_valid.min()), int(n_valid.max())
            problem = f"n_valid must be {self.config.patch} (one patch) to {length}, got {least} to {most}"
            raise UsageError(problem, remedy="Give the number of samples before the padding")
        return n_valid

    def _placed(self, x: Tensor, absent: Tensor | None, lead_rows: list[int]) -> tuple[Tensor, Tensor]:
        """Return the signals in the encoder's lead order and dtype, [B, C, L], and a mask of absent leads."""
        if not isinstance(x, Tensor) or x.ndim != 3 or x.shape[1] != len(lead_rows):
            found = f"shape {tuple(x.shape)}" if isinstance(x, Tensor) else f"type {type(x).__name__}"
            remedy = "Give millivolts and leads=; for arrays, use marecg.embed"
            raise UsageError(
                f"x must be a tensor [records, {len(lead_rows)} leads, samples], got {found}", remedy=remedy
            )
        if x.shape[-1] < self.config.patch:
            least = f"{self.config.patch} samples at {self.config.fs} Hz"
            raise UsageError(f"x must have at least {least}, which is one patch; got {x.shape[-1]}")
        x = x.to(self.prototypes.dtype)
        if lead_rows == list(range(len(LEADS))):
            return x, x.new_zeros(x.shape[:2], dtype=torch.bool) if absent is None else absent
        row_K = torch.tensor(lead_rows, device=x.device)
        x_BCL = x.new_zeros(x.shape[0], len(LEADS), x.shape[-1]).index_copy(1, row_K, x)
        absent_BC = x.new_ones(x_BCL.shape[:2], dtype=torch.bool)
        hidden = absent if absent is not None else x.new_zeros(x.shape[:2], dtype=torch.bool)
        return x_BCL, absent_BC.index_copy(1, row_K, hidden)


def groups(modules: Sequence[nn.Module], lr: float, weight_decay: float) -> list[dict[str, Any]]:
    """Return the trainable parameters in two groups: matrices with weight decay, vectors without."""
    trainable = [p for module in modules for p in module.parameters() if p.requires_grad]
    made = (
        {"params": [p for p in trainable if (p.ndim > 1) == matrices], "lr": lr, "weight_decay": decay}
        for matrices, decay in ((True, weight_decay), (False, 0.0))
    )
    return [group for group in made if group["params"]]
