"""torch.hub gives the packaged encoders."""

from pathlib import Path

import pytest
import torch

from marecg import MarEcg


@pytest.mark.parametrize("name", ["marecg_small", "marecg_small_codes"])
def test_torch_hub_gives_the_packaged_encoder(name):
    root = Path(__file__).parents[2]
    model = torch.hub.load(str(root), name, source="local")
    expected = MarEcg.from_pretrained(name.replace("_", "-"))
    assert all(map(torch.equal, model.state_dict().values(), expected.state_dict().values()))
