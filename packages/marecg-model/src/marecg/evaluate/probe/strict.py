"""Protocol `strict`: shares drawn anew for every seed, stratified, and the L2 strength chosen on val.

Shapes: M records, K classes.
"""

import numpy as np
from numpy.typing import NDArray

from marecg.evaluate.probe.linear import UNSEEN_LOGIT, choose_logistic
from marecg.evaluate.probe.protocol import Protocol

OVER = "mean over the classes that have positives and negatives in test; the others are left out"
"""Which classes the macro AUC is over, by every protocol."""


def draw(y_MK: NDArray[np.uint8], fraction: float, seed: int) -> NDArray[np.int64]:
    """Draw a stratified share: the sorted numbers of round(fraction · M) records, at least one.

    Systematic sampling (Cochran 1977, §8) from the list ordered by label set, rarest class first and at
    random within a set: each label set, and the rarest class as a whole, gets its share to within one record.
    """
    count = max(1, round(fraction * len(y_MK)))
    generator = np.random.default_rng((seed, count))
    commonest_first = np.argsort(-y_MK.sum(axis=0, dtype=np.int64), kind="stable")
    order = np.lexsort((generator.random(len(y_MK)), *y_MK.T[commonest_first]))
    step = len(y_MK) / count
    places = np.floor((np.arange(count) + generator.random()) * step).astype(np.int64)
    return np.sort(order[places])


STRICT = Protocol(
    name="strict",
    normalisation="signals in mV; every feature standardised on the drawn training records",
    policy=f"{OVER}. A class that the drawn training records don't show counts ½",
    draw=draw,
    choose=choose_logistic,
    own_classifiers=True,
    unseen_logit=UNSEEN_LOGIT,
)
