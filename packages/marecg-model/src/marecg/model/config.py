"""Settings of the encoder."""

from typing import Any

from pydantic import model_validator

from marecg.errors import ConfigError
from marecg.settings import Settings, chosen, paper

WINDOW = 4700
"""Number of samples of a record window: the encoder's context and the patches that the decoder predicts."""


class ModelConfig(Settings):
    """Settings of the encoder, its pooling, and the concept space of its embeddings."""

    fs: int = paper(500, "§sec:values: f_s in Hz", gt=0)
    patch: int = paper(50, "§sec:values: P_t, 100 ms", gt=0)
    stride: int = paper(25, "§sec:values: S_t, 50 ms", gt=0)
    context: int = paper(3500, "§subsec:pretrain-corpus: samples that the encoder reads, 139 patches", gt=0)
    positions: int = paper(
        default_factory=lambda values: _fit(values, WINDOW),
        section="§sec:values: T, the rows of e_pos; by default the number of patches in a window",
        gt=0,
    )
    width: int = paper(768, "§sec:values: d", gt=0)
    depth: int = paper(12, "§Computational efficiency: a 12-layer encoder", gt=0)
    heads: int = chosen(12, "as in ViT-B, 64 features per head", gt=0)
    mlp_ratio: int = chosen(4, "as in ViT-B", gt=0)
    amplitude: bool = chosen(False, "the paper discards amplitudes; small and base embed their logarithm")
    revin_eps: float = chosen(1e-4, "mV²; keeps leads flatter than 10 µV from being amplified", gt=0)
    phases: int = chosen(
        1,
        "how often a window is read, shifted by a fraction of the stride each time, to average the outputs; "
        "small and base use 3, because their patches don't overlap",
        gt=0,
    )
    modulation: bool = chosen(False, "the paper reads only H; small and base add it to the wide readout")
    queries: int = chosen(4, "Q; MERL uses 1, MELP 10 to 13", gt=0)
    eta: float = chosen(0.1, "η, the 'small fixed weight' of eq. rhythm-pool", ge=0)
    concepts: int | None = chosen(
        None, "N, the number of concepts in the graph; 40 in the paper (§subsec:graph-structure)", gt=0
    )
    concept_width: int = chosen(
        256, "d_c; with d_e = 128, the concept side has 55 k parameters as in the paper", gt=0
    )
    tau: float = chosen(0.07, "τ of eq. gscl-pred; MERL and MELP use 0.07", gt=0)

    @model_validator(mode="after")
    def _shapes_fit(self) -> "ModelConfig":
        if self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads ({self.heads}), got {self.width}")
        if self.stride > self.patch:
            raise ValueError(
                f"stride must be at most patch ({self.patch}), or samples are lost; got {self.stride}"
            )
        if self.context < self.patch:
            raise ValueError(f"context must be at least patch ({self.patch}), got {self.context}")
        if self.context_patches > self.positions:
            raise ValueError(
                f"context must have at most {self.positions} patches (positions), got {self.context} samples"
            )
        return self

    def of_concepts(self, count: int) -> "ModelConfig":
        """Return the settings with `concepts` set to the number of concepts in a graph.

        Raises:
            ConfigError: If the settings already have another number of concepts.
        """
        if self.concepts not in (None, count):
            problem = f"model.concepts must be the ontology's {count} concepts, got {self.concepts}"
            raise ConfigError(problem, remedy="Omit model.concepts, which follows from the ontology")
        return self.model_copy(update={"concepts": count})

    def patches(self, samples: int) -> int:
        """Return the number of patches that fit into a signal of this many samples."""
        return patch_count(samples, self.patch, self.stride)

    @property
    def context_patches(self) -> int:
        """Number T of patches in the encoder's context: 139 for 3500 samples."""
        return self.patches(self.context)


def patch_count(samples: int, patch: int, stride: int) -> int:
    """Return the number of patches that fit into a signal. All arguments are in samples."""
    return (samples - patch) // stride + 1


def _fit(values: dict[str, Any], window: int) -> int:
    """Return the number of patches of a window, or 1 if `patch` or `stride` failed validation."""
    if "patch" not in values or "stride" not in values:
        return 1
    return max(1, patch_count(window, values["patch"], values["stride"]))
