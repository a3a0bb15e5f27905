"""The network that is trained: the model and the objectives of a recipe.

The loss L is the weighted sum of the objectives' losses. `monitor` computes numbers that show whether the
embeddings collapse. `marecg.train.lightning_module` optimises the network.

Shapes: B batch, T patches, C leads, D width, K projection width, N concepts.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, get_args

import torch
from torch import Tensor, nn

from ecg_ontology import Ontology
from marecg.errors import ConfigError
from marecg.model.batch import Batch
from marecg.model.mar_ecg import MarEcg
from marecg.nn.collapse import effective_rank
from marecg.objectives.objective import Objective, Part, Parts, weighted_sum
from marecg.objectives.views import Views
from marecg.recipes import Config


class Outcome(NamedTuple):
    """Result of a forward pass: the total loss, the unweighted losses by name, and the encoder passes."""

    loss: Tensor
    losses: dict[str, Tensor]
    views: Views


class Network(nn.Module):
    """Model with the objectives that train it.

    Args:
        config: Recipe of the network.
        ontology: Concepts of the labels.
        texts: File in which sentence embeddings of the concepts' texts are stored. None to store nothing.
        weights: Initial values of the model's parameters and buffers. Random if None. The heads of
            objectives start with random values, except GSCL's head, which is fitted to the given prototypes.
    """

    def __init__(
        self,
        config: Config,
        ontology: Ontology,
        texts: Path | None = None,
        weights: Mapping[str, Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.model = MarEcg(config.model, ontology)
        if weights is not None:  # before the objectives, because slow encoders copy the weights
            self.model.load_state_dict(weights)
        parts = Parts(self.model.config, self.model, ontology, texts)
        self.objectives = nn.ModuleDict({name: term.build(parts) for name, term in config.objectives.items()})
        # DDP would wait for the gradients of parts that no objective uses.
        reached = {part for objective in self._objectives() for part in objective.reaches}
        self._frozen = {
            part: (*getattr(self.model, part).parameters(),) for part in get_args(Part) if part not in reached
        }
        self._set_frozen()
        self._unchecked = bool(self._frozen)  # whether the first step must still check for undeclared parts

    def forward(
        self, batch: Batch, generator: torch.Generator, all_ranks: Callable[[Tensor], Tensor], epoch: float
    ) -> Outcome:
        """Compute the total loss L = Σ λ L_objective (eq. total-loss of the paper).

        Args:
            batch: signals and supervision of the records.
            generator: source of all random numbers of this micro-batch.
            all_ranks: function that gathers a tensor [B, K] from all processes of the run, with gradients.
            epoch: epochs so far, on which the coefficients λ depend.
        """
        config = self.config
        views = Views(
            self.model, batch, config.masking, config.clean, config.regulariser, generator, all_ranks
        )
        terms: list[Tensor] = []
        all_losses: dict[str, Tensor] = {}
        checked = self._unchecked and torch.is_grad_enabled()
        self._set_frozen(checked)
        for objective in self._objectives():
            losses = objective(views)
            if checked:
                self._refuse_undeclared(objective, weighted_sum(losses))
            terms.append(objective.settings.share(epoch) * weighted_sum(losses))
            all_losses |= {name: value for name, (_, value) in losses.items()}
        if checked:
            self._set_frozen()
            self._unchecked = False
        return Outcome(sum(terms[1:], start=terms[0]), all_losses, views)

    def _set_frozen(self, gradients: bool = False) -> None:
        for parameters in self._frozen.values():
            for parameter in parameters:
                parameter.requires_grad_(gradients)

    def _refuse_undeclared(self, objective: Objective, loss: Tensor) -> None:
        """Raise `ConfigError` if a loss depends on a part of the model that no objective declares.

        Such a part is frozen, so the objective couldn't train it.
        """
        for part, parameters in self._frozen.items() if loss.requires_grad else ():
            gradients = torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True)
            if any(gradient is not None for gradient in gradients):
                name = type(objective).__name__
                problem = (
                    f"{name} uses the model's {part}, which isn't trained because {name} doesn't declare it"
                )
                raise ConfigError(problem, remedy=f'Add "{part}" to {name}.reaches')

    def after_step(self, step: int, total_steps: int) -> None:
        """Update the objectives after an optimiser step."""
        for objective in self._objectives():
            objective.after_step(self.model, step, total_steps)

    def compile_encoders(self, mode: str = "default") -> None:
        """Compile the model's encoder and the objectives' encoders with `torch.compile`."""
        self.model.encoder.compile(mode=mode)
        for objective in self._objectives():
            for encoder in objective.encoders():
                encoder.compile(mode=mode)

    def export(self) -> MarEcg:
        """Return the model in eval mode, after the objectives have copied their values into it."""
        for objective in self._objectives():
            objective.export(self.model)
        return self.model.eval()

    def _objectives(self) -> list[Objective]:
        return [objective for objective in self.objectives.values() if isinstance(objective, Objective)]


def monitor(outcome: Outcome) -> dict[str, float]:
    """Return numbers that show whether the embeddings of a micro-batch collapse, by name.

    - `std`: standard deviation over records of h_rhythm, the record embedding, averaged over its values.
    - `rank`: effective rank of h_rhythm.
    - `entropy`: entropy in nats of q, the predicted distribution over concepts, if an objective computes q.
    - `grad_…`, for each loss: norm of the gradient of the unweighted loss with respect to the encoder's
      outputs.
    """
    views = outcome.views
    rhythm_BD = views.first.rhythm_BD.detach().float()
    monitors = {"std": float(rhythm_BD.std(0, correction=0).mean()), "rank": effective_rank(rhythm_BD)}
    if views.logits_BN is not None:
        monitors["entropy"] = entropy(views.logits_BN.detach().float())
    for name, loss in outcome.losses.items():
        gradients = torch.autograd.grad(loss, views.encoded, retain_graph=True, allow_unused=True)
        monitors[f"grad_{name}"] = math.hypot(*(float(grad.norm()) for grad in gradients if grad is not None))
    return monitors


def entropy(logits_BN: Tensor) -> float:
    """Return the mean entropy of softmax(logits) in nats. It is log N if logits are uniform."""
    log_q_BN = logits_BN.log_softmax(-1)
    return float(-(log_q_BN.exp() * log_q_BN).sum(-1).mean())
