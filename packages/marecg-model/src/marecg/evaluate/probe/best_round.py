"""Train a network in rounds, and keep its weights after the best round."""

import copy
import math
from collections.abc import Callable, Iterable

from torch import nn


def fit_best(
    net: nn.Module,
    rounds: Iterable[int],
    score: Callable[[], float],
    least: float,
    patience: float = math.inf,
) -> tuple[int, float]:
    """Train a network in rounds, and restore its weights after the best round.

    Args:
        net: network to train.
        rounds: iterator that trains the network. After each round, it yields the number of finished rounds or
            steps.
        score: function that returns the current score of the network.
        least: score that a round must exceed.
        patience: number of rounds or steps without improvement, after which training stops.

    Returns:
        The number that `rounds` yielded for the best round, or 0 if no round exceeds `least`; and its score.
    """
    best, best_score, best_state = 0, least, copy.deepcopy(net.state_dict())
    for number in rounds:
        value = score()
        if value > best_score:
            best, best_score, best_state = number, value, copy.deepcopy(net.state_dict())
        elif number - best >= patience:
            break
    net.load_state_dict(best_state)
    return best, best_score
