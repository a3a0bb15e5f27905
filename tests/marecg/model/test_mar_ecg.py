"""The model: padding, absent leads, concepts."""

import pytest
import torch

from marecg.base.errors import UsageError
from marecg.model.mar_ecg import MarEcg


def test_padding_does_not_change_what_the_model_says_of_the_rest(micro):
    model = MarEcg(micro.model).eval()
    x = torch.randn(1, 12, 3500)
    x[..., 2000:] = 0
    noise = x.clone()
    noise[..., 2000:] = 7.0
    n_valid = torch.tensor([2000])
    torch.testing.assert_close(model(x, n_valid).rhythm_BD, model(noise, n_valid).rhythm_BD)


def test_each_record_of_a_batch_has_absent_leads_of_its_own(micro):
    model = MarEcg(micro.model).eval()
    x, n_valid = torch.randn(2, 12, 3500), torch.tensor([3500, 3500])
    absent = torch.zeros(2, 12, dtype=torch.bool)
    absent[1, 6:] = True
    together = model(x, n_valid, absent).rhythm_BD
    apart = [model(x[i : i + 1], n_valid[:1], absent[i : i + 1]).rhythm_BD for i in range(2)]
    torch.testing.assert_close(together, torch.cat(apart))
    torch.testing.assert_close(together[:1], model(x[:1], n_valid[:1]).rhythm_BD)
    x[1, 6:] = 7.0
    torch.testing.assert_close(together, model(x, n_valid, absent).rhythm_BD)


def test_a_model_without_gscl_refuses_to_speak_of_concepts(micro):
    with pytest.raises(UsageError, match="without GSCL"):
        MarEcg(micro.model).concept_logits(torch.randn(1, 16))
