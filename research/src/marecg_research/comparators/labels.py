"""A control without the graph: learn codes as independent labels.

GSCL, which the control replaces, learns them with soft targets from distances in the graph.

Shapes: B batch, N concepts, D width.
"""

from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from marecg.nn.attention import init_linear
from marecg.objectives.objective import Losses, Objective, ObjectiveConfig, Parts
from marecg.objectives.views import Views
from marecg.settings import chosen


class LabelsConfig(ObjectiveConfig):
    """Settings of independent labels, which replace GSCL's graph, prototypes and soft targets."""

    captions = {"labels": "cross-entropy of the leaves as independent labels"}
    needs_codes = True

    weight: float = chosen(0.5, "the weight of GSCL, which this loss replaces", ge=0)


class Labels(Objective, of=LabelsConfig):
    """Classify leaves (findings) linearly from h_rhythm, the encoder's pooled vector of a record.

    The vector comes from the pass that codes supervise (`Views.supervised`).
    """

    reaches = frozenset({"pool"})

    def __init__(self, settings: LabelsConfig, parts: Parts) -> None:
        super().__init__(settings, parts)
        self.leaves = [node.index for node in parts.ontology.nodes if not node.root]
        self.to_leaves = nn.Linear(parts.shape.width, len(self.leaves))
        init_linear(self.to_leaves)

    def losses(self, views: Views) -> Losses:
        """Return the loss `labels`, which is the binary cross-entropy of the leaves."""
        view = views.supervised
        y_BN = view.supervision.y_BN[:, self.leaves]
        return {"labels": (1.0, labels_loss(self.to_leaves(view.rhythm_BD), y_BN))}


def labels_loss(logits_BN: Tensor, y_BN: Tensor) -> Tensor:
    """Return the binary cross-entropy, summed over leaves and averaged over labelled records."""
    entropy_BN = binary_cross_entropy_with_logits(logits_BN, y_BN.to(logits_BN.dtype), reduction="none")
    labelled_B = y_BN.any(-1)
    return (entropy_BN.sum(-1) * labelled_B).sum() / labelled_B.sum().clamp(min=1)
