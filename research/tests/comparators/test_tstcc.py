"""TS-TCC over whole looks; its losses alone are in test_comparators.py."""

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import torch

import ecg_ontology
from marecg.corpus.batches import BatchStream
from marecg.corpus.prepared import Corpus
from marecg.model.mar_ecg import MarEcg
from marecg.objectives.objective import Parts
from marecg.objectives.views import CleanConfig, MaskingConfig, Views
from marecg.train.data import supervise
from marecg_research.comparators import tstcc
from marecg_research.comparators.tstcc import TstccConfig


def test_the_temporal_losses_of_both_directions_add_up(corpus_folder, micro, monkeypatch):
    corpus, ontology = Corpus.open(corpus_folder), ecg_ontology.load()
    batch = BatchStream(corpus, supervise(micro, corpus, ontology), 4, 1, seed=0).batch(0)
    model, generator = MarEcg(micro.model), torch.Generator().manual_seed(0)
    looks = Views(model, batch, MaskingConfig(), CleanConfig(), None, generator, lambda z: z)
    monkeypatch.setattr(tstcc, "temporal_loss", Mock(side_effect=[torch.tensor(3.0), torch.tensor(5.0)]))
    objective = TstccConfig().build(Parts(model.config, model, ontology, None))
    losses = objective.losses(looks)
    assert losses["temporal"] == (1.0, 8)
    assert losses["contextual"][0] == 0.7


@pytest.mark.parametrize(("room", "moments"), [(4, {1, 2, 3}), (1, {1})])
def test_the_moment_is_any_that_has_a_past_and_leaves_the_whole_future(micro, room, moments):
    """`room`: patches beside those of the future."""
    model = MarEcg(micro.model)
    objective = TstccConfig().build(Parts(model.config, model, ecg_ontology.load(), None))
    h_BTCD = torch.randn(2, objective.horizons + room, 12, micro.model.width)
    drawn = set()

    def part(first: int, last: int) -> torch.Tensor:
        drawn.add(last)
        assert first == 0
        return h_BTCD[:, first:last]

    real_BT, generator = torch.ones(h_BTCD.shape[:2]), torch.Generator().manual_seed(0)
    look = SimpleNamespace(h_BTCD=h_BTCD, real_BT=real_BT, part=part, pooled=lambda h, _: h.mean((1, 2)))
    looks: Any = SimpleNamespace(clean=lambda _: look, all_ranks=lambda z: z, generator=generator)
    for _ in range(30):
        objective.losses(looks)
    assert drawn == moments
