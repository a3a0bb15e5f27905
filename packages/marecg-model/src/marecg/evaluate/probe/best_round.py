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
    """Train by rounds, and restore the best round's network; return that round (0 for none) and its score.

    `rounds` trains it, and after each round gives how many rounds, or steps, were done; the first must have a
    score above `least`, and after `patience` of them without a gain it ends.
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
