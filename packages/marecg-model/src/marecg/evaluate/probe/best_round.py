"""Training by rounds that keeps the best round's network."""

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
    """Train by rounds, and restore the best network. Return its round (0 if there is none) and its score.

    Args:
        net: network to train.
        rounds: trains the network, and yields after each round the number of finished rounds or steps.
        score: returns the score of the network.
        least: score that a round must exceed.
        patience: rounds or steps without improvement after which training stops.
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
