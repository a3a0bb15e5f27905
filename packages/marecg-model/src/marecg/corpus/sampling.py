"""Which records an epoch draws, rare leaves more often and sources by their share, and whose codes count.

Shapes: M records, N concepts.
"""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from marecg.base.config import SamplingConfig
from marecg.base.errors import ConfigError
from marecg.corpus.prepared import Corpus

MOST_OFTEN = 12.0
"""No record comes more often than this many times the median one: few records would be learnt by heart."""


def draws(corpus: Corpus, sampling: SamplingConfig) -> NDArray[np.float64] | None:
    """How often each record comes in an epoch of M draws, on average, float64 [M]; None if all come once.

    A record is drawn as its rarest leaf wants it: in proportion to that leaf's frequency to the power of
    −`balance`; one without a leaf is drawn like the commonest. Raises `ConfigError` where a source with a
    share is not in the corpus, or the shares leave nothing for the others.
    """
    if not sampling.balance and not sampling.shares:
        return None
    weight_M = _balanced(labels(corpus, sampling.without_codes, sampling.codes_permuted), sampling.balance)
    shares, sources = dict(sampling.shares), corpus.sources.counts()
    missing = sorted(shares.keys() - sources)
    if missing:
        remedy = f"The sources are {', '.join(sorted(sources))}"
        raise ConfigError(f"sampling.shares names {missing[0]}, which the corpus lacks", remedy=remedy)
    rest_M = ~corpus.sources.among(shares)
    rest = 1 - sum(shares.values())
    if rest < 0 or (rest > 0) != bool(rest_M.any()):
        problem = f"sampling.shares leave {rest:g} for {int(rest_M.sum())} other records"
        raise ConfigError(problem, remedy="Let the shares of all sources make 1")
    parts = [(corpus.sources.among([source]), share) for source, share in shares.items()] + [(rest_M, rest)]
    for part_M, share in parts:
        if part_M.any():
            weight_M[part_M] *= share / weight_M[part_M].sum()
    return weight_M * len(corpus)


def systematic(draws_M: NDArray[np.float64], offset: float) -> NDArray[np.int64]:
    """M record numbers, each floor or ceiling of its average often (systematic sampling, Cochran 1977, §8).

    Example:
        >>> systematic(np.array([0.5, 2.0, 0.5]), 0.25).tolist()
        [0, 1, 1]
    """
    reach_M = np.cumsum(draws_M) * (len(draws_M) / draws_M.sum())
    row_M = np.searchsorted(reach_M, np.arange(len(draws_M)) + offset, side="right")
    return np.minimum(row_M, len(draws_M) - 1)


def _balanced(y_MN: NDArray[np.uint8], balance: float) -> NDArray[np.float64]:
    count_N = np.maximum(y_MN.sum(axis=0, dtype=np.int64), 1)
    weight_N = (count_N.max() / count_N) ** balance
    weight_M = np.ones(len(y_MN))
    for leaf, weight in enumerate(weight_N):  # a column at a time: ten million rows of floats are 3 GB
        np.maximum(weight_M, y_MN[:, leaf] * weight, out=weight_M)
    capped_M: NDArray[np.float64] = np.minimum(weight_M, MOST_OFTEN * np.median(weight_M))
    return capped_M


def labels(
    corpus: Corpus, without_codes: Collection[str] = (), codes_permuted: int | None = None
) -> NDArray[np.uint8]:
    """The active leaves, uint8 [M, N]; none for records of sources whose codes are not read.

    With `codes_permuted`, a seed, the records whose codes are read exchange them among each other.
    """
    read_M = ~corpus.sources.among(without_codes)
    y_MN: NDArray[np.uint8] = corpus.y * read_M[:, None].astype(np.uint8)
    if codes_permuted is not None:
        rows = np.flatnonzero(read_M)
        y_MN[rows] = y_MN[np.random.default_rng(codes_permuted).permutation(rows)]
    return y_MN
