"""Resumable stream of batches. Within a run, a batch depends only on its number and the rank.

The rank is the number of a process among the processes of a run.

Shapes: B batch, M records of the corpus.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from marecg.corpus.prepared import Corpus
from marecg.corpus.sampling import systematic
from marecg.corpus.supervision import CorpusSupervision
from marecg.model.batch import Batch


@dataclass(eq=False)
class BatchStream:
    """Iterable over micro-batches. Its position can be saved in a checkpoint and restored.

    Each epoch has its own order of records. The epochs are concatenated and cut into global batches of
    `world · batch_size` records. The process with rank r takes the r-th slice of a global batch as its
    micro-batch. Without `draws_M`, an epoch contains every record exactly once. All batches have the same
    size.

    Attributes:
        corpus: Corpus with M records.
        supervision: Supervision of the records.
        batch_size: Number of records in a micro-batch of one rank.
        length: Number of micro-batches in the run.
        seed: Seed of the order.
        rank: Number of this process.
        world: Number of processes.
        draws_M: Expected number of times that each record is drawn in an epoch. 1 for all records if None.
        next: Number of the next micro-batch.
        seconds: Time spent on fetching so far.
    """

    corpus: Corpus
    supervision: CorpusSupervision
    batch_size: int
    length: int
    seed: int
    rank: int = 0
    world: int = 1
    draws_M: NDArray[np.float64] | None = None
    next: int = field(default=0, init=False)
    seconds: float = field(default=0.0, init=False)
    _orders: dict[int, NDArray[np.int64]] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        """Return the number of micro-batches of the whole run."""
        return self.length

    def __iter__(self) -> Iterator[Batch]:
        """Yield the remaining micro-batches, beginning with number `next`."""
        while self.next < self.length:
            began = time.perf_counter()
            batch = self.batch(self.next)
            self.seconds += time.perf_counter() - began
            self.next += 1
            yield batch

    def batch(self, number: int) -> Batch:
        """Fetch the micro-batch with a given number."""
        rows_B = self.rows(number)
        return Batch(
            number,
            torch.from_numpy(rows_B),
            torch.from_numpy(self.corpus.stored(rows_B)),
            torch.from_numpy(self.corpus.n_valid[rows_B]),
            self.supervision.rows(torch.from_numpy(rows_B)),
        )

    def rows(self, number: int) -> NDArray[np.int64]:
        """Return the row numbers of this rank's records in a micro-batch, int64 [B]."""
        first = (number * self.world + self.rank) * self.batch_size
        epoch_B, position_B = np.divmod(np.arange(first, first + self.batch_size), len(self.corpus))
        self._orders = {epoch: self._order(epoch) for epoch in np.unique(epoch_B).tolist()}
        return np.concatenate([order[position_B[epoch_B == epoch]] for epoch, order in self._orders.items()])

    def _order(self, epoch: int) -> NDArray[np.int64]:
        if epoch in self._orders:
            return self._orders[epoch]
        generator = np.random.default_rng([self.seed, epoch])
        if self.draws_M is None:
            return generator.permutation(len(self.corpus))
        return generator.permutation(systematic(self.draws_M, generator.random()))

    def state_dict(self) -> dict[str, int]:
        """Return the stream's position, for a checkpoint."""
        return {"next": self.next}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Restore the stream's position from a checkpoint."""
        self.next = state["next"]
