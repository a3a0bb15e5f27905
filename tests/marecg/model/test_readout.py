"""The model: padding, absent leads, concepts, and the wide readout of H."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from marecg.errors import UsageError
from marecg.model.config import ModelConfig
from marecg.model.mar_ecg import MarEcg
from marecg.model.readout import blocks, readout_width, wide_blocks, wide_columns
from marecg.nn.modulation import modulation_spectrum


def widths(blocks: dict[str, torch.Tensor]) -> dict[str, int]:
    return {name: x_BV.shape[1] for name, x_BV in blocks.items()}


def noise(records: int) -> torch.Tensor:
    return torch.randn(records, 12, 3500, generator=torch.Generator().manual_seed(records))


def test_by_hand():
    """One record of three patches, the last padding; D = 1; lead c says c at first and then 3c."""
    lead_C = torch.arange(12.0)
    h_BTCD = torch.stack([lead_C, 3 * lead_C, 99 + 0 * lead_C])[None, ..., None]
    real_BT = torch.tensor([[True, True, False]])
    absent_BC = torch.arange(12)[None] >= 2
    log_std_BC = torch.tensor([[1.0, 2.0] + [-9.0] * 10])
    wide = wide_blocks(torch.tensor([[7.0]]), h_BTCD, log_std_BC, real_BT, absent_BC)
    leads, log_std = [2.0 * lead for lead in range(12)], [1, 2, *[1.5] * 10]
    expected = {"rhythm": [7], "mean": [11], "max": [16.5], "std": [5.5], "leads": leads, "log_std": log_std}
    assert {name: part_BW[0].tolist() for name, part_BW in wide.items()} == expected


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), real=st.integers(0, 5))
def test_it_is_what_a_loop_makes_of_the_real_patches(seed, real):
    generator = torch.Generator().manual_seed(seed)
    h_BTCD = torch.randn(2, 5, 12, 3, generator=generator)
    real_BT = torch.stack([torch.arange(5) < real, torch.ones(5, dtype=torch.bool)])
    wide = wide_blocks(torch.randn(2, 3), h_BTCD, torch.randn(2, 12), real_BT)
    assert widths(wide) == {block.name: block.width for block in blocks(ModelConfig(width=3, heads=1))}
    for record, patches in enumerate((real or 5, 5)):
        h_TCD = h_BTCD[record, :patches].numpy()
        h_TD = h_TCD.mean(1)
        expected = {"mean": h_TD.mean(0), "max": h_TD.max(0), "std": h_TD.std(0)}
        expected["leads"] = h_TCD.mean(0).ravel()
        for name, values in expected.items():
            np.testing.assert_allclose(wide[name][record], values, atol=1e-4, err_msg=name)


def test_the_modulation_spectrum_stands_last_where_the_model_has_one(micro):
    with_it = micro.model.model_copy(update={"modulation": True})
    plain, model = MarEcg(micro.model).eval(), MarEcg(with_it).eval()
    model.load_state_dict(plain.state_dict())
    x_BCL, n_valid_B = noise(2), torch.tensor([3500, 2600])
    absent_BC = torch.zeros(2, 12, dtype=torch.bool)
    absent_BC[0, 1:] = True
    with torch.no_grad():
        without_BW, wide_BW = (each(x_BCL, n_valid_B, absent_BC).wide for each in (plain, model))
    end = readout_width(micro.model)
    assert wide_BW.shape == (2, readout_width(with_it))
    assert wide_columns(with_it)["modulation"] == slice(end, readout_width(with_it))
    assert torch.equal(wide_BW[:, :end], without_BW)
    x_BCL[0, 1:] = 0
    torch.testing.assert_close(wide_BW[:, end:], modulation_spectrum(x_BCL, n_valid_B, 500))


def test_a_record_twice_as_high_is_told_by_its_log_scale_alone(micro):
    model = MarEcg(micro.model).eval()
    with torch.no_grad():
        once, twice = (model(scale * noise(1), torch.tensor([3500])).wide for scale in (1, 2))
    step = (twice - once)[0]
    torch.testing.assert_close(step[-12:], torch.full((12,), math.log(2)), atol=1e-3, rtol=0)
    torch.testing.assert_close(step[:-12], torch.zeros(len(step) - 12), atol=1e-2, rtol=0)


def test_padding_and_what_lies_in_an_absent_lead_change_nothing(micro):
    model = MarEcg(micro.model).eval()
    x_BCL, n_valid_B = noise(2), torch.tensor([2000, 3500])
    absent_BC = torch.zeros(2, 12, dtype=torch.bool)
    absent_BC[:, 3] = True
    other_BCL = x_BCL.clone()
    other_BCL[0, :, 2000:] = 5
    other_BCL[:, 3] *= 7
    with torch.no_grad():
        one, other = (model(x, n_valid_B, absent_BC).wide for x in (x_BCL, other_BCL))
    torch.testing.assert_close(one, other)


def test_a_still_record_has_a_slope_everywhere():
    h_BTCD = torch.ones(1, 1, 12, 2, requires_grad=True)
    real_BT = torch.ones(1, 1, dtype=torch.bool)
    sum(
        x.sum() for x in wide_blocks(torch.zeros(1, 2), h_BTCD, torch.zeros(1, 12), real_BT).values()
    ).backward()
    assert torch.isfinite(h_BTCD.grad).all()


@pytest.mark.slow
def test_it_is_traced_for_any_number_of_records(micro):
    model = MarEcg(micro.model).eval()
    records = torch.export.Dim("records", min=1)

    class Wide(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, x: torch.Tensor, n_valid: torch.Tensor, absent: torch.Tensor) -> torch.Tensor:
            return self.model(x, n_valid, absent).wide

    def inputs(batch: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        absent = torch.zeros(batch, 12, dtype=torch.bool)
        absent[0, 5] = True
        return noise(batch), torch.full((batch,), 2000), absent

    program = torch.export.export(Wide(), inputs(2), dynamic_shapes=({0: records},) * 3)
    with torch.no_grad():
        torch.testing.assert_close(program.module()(*inputs(3)), Wide()(*inputs(3)), atol=1e-4, rtol=1e-4)


def test_padding_does_not_change_what_the_model_says_of_the_rest(micro):
    model = MarEcg(micro.model).eval()
    x = torch.randn(1, 12, 3500)
    x[..., 2000:] = 0
    noise = x.clone()
    noise[..., 2000:] = 7.0
    n_valid = torch.tensor([2000])
    torch.testing.assert_close(model(x, n_valid).rhythm, model(noise, n_valid).rhythm)


def test_each_record_of_a_batch_has_absent_leads_of_its_own(micro):
    model = MarEcg(micro.model).eval()
    x, n_valid = torch.randn(2, 12, 3500), torch.tensor([3500, 3500])
    absent = torch.zeros(2, 12, dtype=torch.bool)
    absent[1, 6:] = True
    together = model(x, n_valid, absent).rhythm
    apart = [model(x[i : i + 1], n_valid[:1], absent[i : i + 1]).rhythm for i in range(2)]
    torch.testing.assert_close(together, torch.cat(apart))
    torch.testing.assert_close(together[:1], model(x[:1], n_valid[:1]).rhythm)
    x[1, 6:] = 7.0
    torch.testing.assert_close(together, model(x, n_valid, absent).rhythm)


def test_a_model_without_gscl_refuses_to_speak_of_concepts(micro):
    with pytest.raises(UsageError, match="without GSCL"):
        MarEcg(micro.model).concept_logits(torch.randn(1, 16))
