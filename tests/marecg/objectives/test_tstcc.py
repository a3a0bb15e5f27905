"""TS-TCC over whole looks; its losses alone are in test_comparators.py."""

from pathlib import Path

import pytest
import torch

import ecg_ontology
from marecg.config import CleanConfig, MaskingConfig
from marecg.corpus.batches import BatchStream
from marecg.corpus.prepared import Corpus
from marecg.model.mar_ecg import MarEcg
from marecg.objectives.comparators import tstcc
from marecg.objectives.comparators.tstcc import TstccConfig
from marecg.objectives.objective import Parts
from marecg.objectives.views import Views
from marecg.recipes import Config


def test_the_temporal_losses_of_both_directions_add_up(
    corpus_folder: Path, micro: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, ontology = Corpus.open(corpus_folder), ecg_ontology.load()
    batch = BatchStream(corpus, micro.supervision(corpus, ontology), 4, 1, seed=0).batch(0)
    model = MarEcg(micro.model)
    looks = Views(
        model, batch, MaskingConfig(), CleanConfig(), None, torch.Generator().manual_seed(0), lambda z: z
    )
    told = iter([torch.tensor(3.0), torch.tensor(5.0)])
    monkeypatch.setattr(tstcc, "temporal_loss", lambda predicted, future: next(told))
    objective = TstccConfig().build(Parts(model.config, model, ontology, None))
    losses = objective.losses(looks)
    assert losses["temporal"] == 8
    contextual = float(losses["contextual"].detach())
    assert float(objective.total(losses).detach()) == pytest.approx(8 + 0.7 * contextual, rel=1e-6)
