"""Sample the records of an epoch.

Records with rare leaf concepts can be drawn more often. Each source can have a fixed share of the drawn
records. Codes of a source can be ignored.

Shapes: M records, N concepts, R families (roots), K codes.
"""

from collections.abc import Collection
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ecg_ontology import Ontology
from marecg.corpus import index
from marecg.corpus.config import SamplingConfig
from marecg.corpus.prepared import Corpus
from marecg.errors import ConfigError

MOST_OFTEN = 12.0
"""Maximum weight of a record relative to the median weight, so that rare records aren't memorised."""


def draws(corpus: Corpus, sampling: SamplingConfig) -> NDArray[np.float64] | None:
    """Return the expected number of draws of each record in an epoch, float64 [M]. None if all are 1.

    A record is drawn in proportion to its weight, the frequency of its rarest leaf concept to the power of
    −`balance`, but at most `MOST_OFTEN` times the median weight. A record without a leaf has the weight of
    the most frequent leaf. The weights of each source in `shares` are scaled to its share. All
    other sources together get the rest: 1 minus the sum of `shares`.

    Raises `ConfigError` if a source with a share isn't in the corpus, or if the rest is negative, is 0
    although there are other sources, or is positive although there are none.
    """
    if not sampling.balance and not sampling.shares:
        return None
    weight_M = _balanced(labels(corpus, sampling.without_codes, sampling.codes_permuted), sampling.balance)
    shares, sources = dict(sampling.shares), corpus.sources.counts()
    missing = sorted(shares.keys() - sources)
    if missing:
        remedy = f"The sources are {', '.join(sorted(sources))}"
        raise ConfigError(f"sampling.shares must have sources of the corpus, got {missing[0]}", remedy=remedy)
    rest_M = ~corpus.sources.among(shares)
    rest = 1 - sum(shares.values())
    if rest < 0 or (rest > 0) != bool(rest_M.any()):
        problem = (
            f"sampling.shares must add up to 1, got a rest of {rest:g} for {int(rest_M.sum())} other records"
        )
        remedy = "Set the shares of all sources, or leave a rest for the other sources"
        raise ConfigError(problem, remedy=remedy)
    parts = [(corpus.sources.among([source]), share) for source, share in shares.items()] + [(rest_M, rest)]
    for part_M, share in parts:
        if part_M.any():
            weight_M[part_M] *= share / weight_M[part_M].sum()
    return weight_M * len(corpus)


def systematic(draws_M: NDArray[np.float64], offset: float) -> NDArray[np.int64]:
    """Draw M row numbers by systematic sampling (Cochran 1977, §8).

    Row i is drawn `draws_M[i]` times, rounded up or down, if the expected numbers add up to M.

    Args:
        draws_M: expected number of draws of each row. Only their ratios matter.
        offset: random number from 0 to 1, which determines the rounding.

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
    for leaf, weight in enumerate(weight_N):  # floats of all columns at once would take 3 GB
        np.maximum(weight_M, y_MN[:, leaf] * weight, out=weight_M)
    capped_M: NDArray[np.float64] = np.minimum(weight_M, MOST_OFTEN * np.median(weight_M))
    return capped_M


def labels(
    corpus: Corpus, without_codes: Collection[str] = (), codes_permuted: int | None = None
) -> NDArray[np.uint8]:
    """Return the leaf concepts of all records, uint8 [M, N], with 1 if a record has the leaf.

    Args:
        corpus: Corpus.
        without_codes: Sources whose codes are ignored. Their records have no leaves.
        codes_permuted: Seed of a permutation, by which the records of the other sources exchange their codes.
            No permutation if None.
    """
    return _as_read(corpus, corpus.y, without_codes, codes_permuted)


def families(
    corpus: Corpus, ontology: Ontology, without_codes: Collection[str] = (), codes_permuted: int | None = None
) -> NDArray[np.uint8]:
    """Return the families of each record, uint8 [M, R], in the order of the root concepts.

    A family is a root concept with all concepts below it. A record has the families of its leaves. A record
    without a leaf has the roots to which its codes are mapped. The arguments are as for `labels`.
    """
    member_NR = np.equal.outer(ontology.families, ontology.roots).astype(np.uint8)
    family_MR = np.asarray(corpus.y @ member_NR > 0, np.uint8)
    rows = np.flatnonzero(~corpus.y.any(1))
    codes = index.of(corpus.folder, ["codes"])["codes"].take(rows).to_pylist() if len(rows) else []
    roots_of = {
        code: [ontology.roots.index(node) for node in ontology.route(code).nodes if node in ontology.roots]
        for code in set(chain.from_iterable(codes))
    }
    for row, record_codes in zip(rows, codes, strict=True):
        family_MR[row, [root for code in record_codes for root in roots_of[code]]] = 1
    return _as_read(corpus, family_MR, without_codes, codes_permuted)


def _as_read(
    corpus: Corpus, label_MK: NDArray[np.uint8], without_codes: Collection[str], codes_permuted: int | None
) -> NDArray[np.uint8]:
    read_M = ~corpus.sources.among(without_codes)
    label_MK = label_MK * read_M[:, None].astype(np.uint8)
    if codes_permuted is not None:
        rows = np.flatnonzero(read_M)
        label_MK[rows] = label_MK[np.random.default_rng(codes_permuted).permutation(rows)]
    return label_MK
