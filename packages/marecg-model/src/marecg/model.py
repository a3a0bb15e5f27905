"""MarEcg: tokens → encoder → H, H̄, h_rhythm and the concepts it is nearest to. What a run leaves behind.

Shapes: B batch, C leads, L samples, T patches, D width, N concepts, K concept width (d_c).
"""

import json
from pathlib import Path
from typing import NamedTuple, Self

import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from ecg_ontology import Ontology
from ecg_ontology.files import replacing
from marecg.config import LEADS, ModelConfig
from marecg.errors import CheckpointError, UsageError
from marecg.nn.attention import init_linear
from marecg.nn.concepts import concept_logits
from marecg.nn.encoder import Encoder
from marecg.nn.pooling import RhythmPool, lead_mean
from marecg.nn.revin import RevIN
from marecg.nn.tokens import Tokens, full_patches, patchify

FORMAT = 1


class Features(NamedTuple):
    """What the encoder says of a batch: h_rhythm [B, D] and H̄ [B, T, D]."""

    rhythm_BD: Tensor
    patch_BTD: Tensor


class MarEcg(nn.Module):
    """The encoder with its pools and its place in the concept space (§Methods).

    Args:
        config: the shape of everything; `marecg.recipes.c3().model` is the paper's.
    """

    prototypes: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.revin = RevIN(config.context, config.revin_eps)
        self.tokens = Tokens(len(LEADS), config.positions, config.patch, config.width)
        self.encoder = Encoder(config.width, config.depth, config.heads, config.mlp_ratio)
        self.pool = RhythmPool(config.width, config.queries, config.eta)
        self.to_concepts = nn.Linear(config.width, config.concept_width, bias=False)
        init_linear(self.to_concepts)
        self.register_buffer("prototypes", torch.zeros(config.concepts, config.concept_width))

    def forward(self, x_BCL: Tensor, n_valid_B: Tensor, absent_C: Tensor | None = None) -> Features:
        """Encode records in mV, nothing masked but padding and the leads that `absent_C` (bool) names.

        L may be anything from one patch up to `config.positions` patches.
        """
        config = self.config
        x_BCL, _ = self.revin(x_BCL, n_valid_B)
        x_BTCP = patchify(x_BCL, config.patch, config.stride)
        real_BT = full_patches(n_valid_B, x_BTCP.shape[1], config.patch, config.stride)
        hidden_BTC = ~real_BT[..., None].expand(x_BTCP.shape[:3])
        if absent_C is not None:
            hidden_BTC = hidden_BTC | absent_C
        h_BTCD = self.encoder(self.tokens(x_BTCP, hidden_BTC))
        return Features(self.pool(h_BTCD, real_BT), lead_mean(h_BTCD))

    def concept_logits(self, rhythm_BD: Tensor) -> Tensor:
        """The logits of q over the N concepts (eq. gscl-pred), [B, N].

        Raises:
            UsageError: the model was trained without GSCL, so its prototypes say nothing.
        """
        if not self.prototypes.any():
            raise UsageError(
                "the model was trained without GSCL and knows no concepts",
                remedy="Use a model of recipe c1-gscl, c2, c3 or tiny",
            )
        return concept_logits(self.to_concepts(rhythm_BD), self.prototypes, self.config.tau)

    def save_pretrained(self, folder: str | Path, ontology: Ontology) -> None:
        """Write config.json, model.safetensors and ontology.json into `folder`, all or nothing.

        Args:
            folder: created, or replaced as a whole.
            ontology: whose enumeration the prototypes follow.
        """
        description = {"format": FORMAT, "leads": LEADS, "model": self.config.model_dump()}
        with replacing(folder) as temporary:
            temporary.mkdir()
            (temporary / "config.json").write_text(json.dumps(description, indent=2), encoding="utf-8")
            ontology.save(temporary / "ontology.json")
            save_file(self.state_dict(), temporary / "model.safetensors")

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Self:
        """Load a model that `save_pretrained` wrote; in eval mode.

        Raises:
            CheckpointError: a file is missing or damaged, a tensor missing, extra or of another shape,
                or the leads stand in another order.
        """
        folder = Path(folder)
        try:
            description = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            config = ModelConfig.model_validate(description["model"])
            tensors = load_file(folder / "model.safetensors")
        except FileNotFoundError as error:
            raise CheckpointError(
                f"has no {Path(error.filename).name if error.filename else 'model.safetensors'}",
                where=folder,
                remedy="Name the folder 'model' of a run, or one that save_pretrained wrote",
            ) from error
        except (ValidationError, SafetensorError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"is no exported model ({' '.join(str(error).split())})",
                where=folder,
                remedy="Export the run again",
            ) from error
        if description.get("leads") != list(LEADS):
            raise CheckpointError(
                f"has leads {description.get('leads')}, this package has {list(LEADS)}",
                where=folder,
                remedy="Use the version that wrote it",
            )
        model = cls(config)
        try:
            model.load_state_dict(tensors, strict=True)
        except RuntimeError as error:
            raise CheckpointError(
                " ".join(str(error).split()),
                where=folder / "model.safetensors",
                remedy="Export the run again",
            ) from error
        return model.eval()
