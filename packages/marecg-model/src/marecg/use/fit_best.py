"""Training that keeps the best: of a network what it was after the round that validation liked most."""

from collections.abc import Callable, Iterable
from math import inf

from torch import nn


def fit_best(
    net: nn.Module, rounds: Iterable[int], score: Callable[[], float], least: float, patience: float = inf
) -> tuple[int, float]:
    """Train, and leave the network as it stood after its best round: (which, 0 for none; its score).

    `rounds` trains it, and after each round gives how many rounds, or steps, were done; the first must have a
    score above `least`, and after `patience` of them without a gain it ends.
    """
    best, best_score, kept = 0, least, _state(net)
    for number in rounds:
        value = score()
        if value > best_score:
            best, best_score, kept = number, value, _state(net)
        elif number - best >= patience:
            break
    net.load_state_dict(kept)
    return best, best_score


def _state(net: nn.Module) -> dict[str, object]:
    return {name: tensor.clone() for name, tensor in net.state_dict().items()}
