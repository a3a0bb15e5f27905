"""Methods that contrast or match two augmented views: SimCLR, SimSiam and Barlow Twins.

Chen et al., A Simple Framework for Contrastive Learning of Visual Representations, ICML 2020. Chen & He,
Exploring Simple Siamese Representation Learning, CVPR 2021. Zbontar et al., Self-Supervised Learning via
Redundancy Reduction, ICML 2021.

Shapes: B batch, D width, K projection width.
"""

from torch import Tensor, nn
from torch.nn.functional import batch_norm

from marecg.errors import ConfigError
from marecg.model.config import ModelConfig
from marecg.model.flops import Flops, encoder_flops
from marecg.nn.heads import MLP, BatchNormMLP
from marecg.nn.precision import in_float32
from marecg.objectives.contrast import minus_cosine, nt_xent
from marecg.objectives.objective import Losses, Objective, ObjectiveConfig, Parts
from marecg.objectives.views import Augmentation, Pass, Views
from marecg.settings import chosen


class TwoViewsConfig(ObjectiveConfig):
    """Settings of a method with two views."""

    augmentation: Augmentation = chosen(
        "unconstrained", "crop, stretch, blank, noise and gain, in place of SimCLR's crop and colour"
    )

    def flops(self, shape: ModelConfig, window_patches: int) -> Flops:
        """Return the cost of the pass over the second view. The first view replaces the usual masked pass."""
        return Flops(encoder_flops(shape), 0)

    def looks(self, views: Views) -> tuple[Pass, Pass]:
        """Return the passes over two independently augmented views."""
        return views.clean(self.augmentation), views.clean(self.augmentation, 1)


def over_batch(views: Views, h_BD: Tensor) -> Tensor:
    """Gather the rows of all ranks with their gradients, for batch norm over the whole batch.

    Raises `ConfigError` if the batch has a single record, because batch norm needs several.
    """
    gathered_BD = views.all_ranks(h_BD)
    if len(gathered_BD) < 2:
        problem = "must be at least 2, because the method uses statistics of the batch, got 1"
        raise ConfigError(problem, where="train.batch_size", remedy="Raise it, and train.global_batch_size")
    return gathered_BD


class TwoViews(Objective):
    """Objective on the projections of h_rhythm, the encoder's pooled vector, of two views."""

    reaches = frozenset({"pool"})
    settings: TwoViewsConfig

    def __init__(self, settings: TwoViewsConfig, parts: Parts, projector: nn.Module) -> None:
        super().__init__(settings, parts)
        self.projector = projector

    def projected(self, views: Views, view: Pass) -> Tensor:
        """Return the projection of a view's h_rhythm for the records of all ranks, [B, K]."""
        return self.projector(over_batch(views, view.rhythm_BD))  # type: ignore[no-any-return]

    def both(self, views: Views) -> tuple[Tensor, Tensor]:
        """Return the projections of both views."""
        first, second = self.settings.looks(views)
        return self.projected(views, first), self.projected(views, second)


class SimclrConfig(TwoViewsConfig):
    """Settings of SimCLR (arXiv:2002.05709). Its views are augmented, but not masked."""

    captions = {"simclr": "contrast of two augmented views"}

    tau: float = chosen(0.1, "SimCLR Table 5: best with normalised projections", gt=0)
    outputs: int = chosen(128, "SimCLR's default: the projection", gt=0)


class Simclr(TwoViews, of=SimclrConfig):
    """Contrast the two views of a record with all other views of the batch."""

    settings: SimclrConfig

    def __init__(self, settings: SimclrConfig, parts: Parts) -> None:
        width = parts.shape.width
        super().__init__(settings, parts, MLP(width, width, settings.outputs))

    def losses(self, views: Views) -> Losses:
        """Return the loss `simclr`."""
        first_BK, second_BK = (
            views.all_ranks(self.projector(view.rhythm_BD)) for view in self.settings.looks(views)
        )
        return {"simclr": (1.0, nt_xent(first_BK, second_BK, self.settings.tau))}


class SimsiamConfig(TwoViewsConfig):
    """Settings of SimSiam (arXiv:2011.10566)."""

    captions = {"simsiam": "prediction of the other view's projection"}

    outputs: int = chosen(2048, "SimSiam: the projection, as wide as its encoder", gt=0)
    hidden: int = chosen(512, "SimSiam: the predictor's bottleneck, a quarter of the projection", gt=0)


class Simsiam(TwoViews, of=SimsiamConfig):
    """Predict the other view's projection, in both directions. Targets get no gradient."""

    settings: SimsiamConfig

    def __init__(self, settings: SimsiamConfig, parts: Parts) -> None:
        outputs = settings.outputs
        super().__init__(
            settings, parts, BatchNormMLP(parts.shape.width, outputs, outputs, outputs, closing=True)
        )
        self.predictor = BatchNormMLP(outputs, settings.hidden, outputs)

    def losses(self, views: Views) -> Losses:
        """Return the loss `simsiam`, the mean of eq. 1 in both directions."""
        first_BK, second_BK = self.both(views)
        forth = minus_cosine(self.predictor(first_BK), second_BK)
        back = minus_cosine(self.predictor(second_BK), first_BK)
        return {"simsiam": (1.0, (forth + back) / 2)}


class BarlowConfig(TwoViewsConfig):
    """Settings of Barlow Twins (arXiv:2103.03230)."""

    captions = {"barlow": "cross-correlation of two views against the identity"}

    redundancy: float = chosen(5e-3, "Barlow Twins: λ, the weight of the terms off the diagonal", ge=0)
    hidden: int = chosen(8192, "Barlow Twins: all three layers have this width", gt=0)
    outputs: int = chosen(8192, "Barlow Twins: more is better, up to 16384", gt=0)


class Barlow(TwoViews, of=BarlowConfig):
    """Make the cross-correlation of the two views' projections similar to the identity matrix."""

    settings: BarlowConfig

    def __init__(self, settings: BarlowConfig, parts: Parts) -> None:
        hidden = settings.hidden
        super().__init__(settings, parts, BatchNormMLP(parts.shape.width, hidden, hidden, settings.outputs))

    def losses(self, views: Views) -> Losses:
        """Return the loss `barlow`."""
        return {"barlow": (1.0, barlow_loss(*self.both(views), self.settings.redundancy))}


@in_float32
def barlow_loss(first_BK: Tensor, second_BK: Tensor, redundancy: float) -> Tensor:
    """Return Σ_i (1 − C_ii)² + λ Σ_{i≠j} C_ij² (Barlow Twins eq. 1); λ is `redundancy`."""
    first_BK, second_BK = (batch_norm(z_BK, None, None, training=True) for z_BK in (first_BK, second_BK))
    correlation_KK = first_BK.T @ second_BK / len(first_BK)
    diagonal_K = correlation_KK.diagonal()
    invariance = (1 - diagonal_K).square().sum()
    return invariance + redundancy * (correlation_KK.square().sum() - diagonal_K.square().sum())
