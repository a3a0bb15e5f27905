"""The causal decoder: what each prediction may and may not have seen."""

import torch

from marecg.nn.decoder import Decoder
from marecg.nn.tokens import patchify

PATCH, STRIDE, CONTEXT = 6, 3, 5


def decoder() -> Decoder:
    torch.manual_seed(0)
    shape = {"leads": 2, "positions": 9, "patch": PATCH, "stride": STRIDE, "encoder_width": 8}
    return Decoder(**shape, width=8, depth=2, heads=2, mlp_ratio=2)


def test_a_trailing_patch_is_predicted_from_samples_before_it_and_from_all_of_them():
    x_BCL = torch.randn(1, 2, STRIDE * 8 + PATCH, requires_grad=True)
    h_BTCD = torch.zeros(1, CONTEXT, 2, 8)
    predicted_BSCP = decoder()(h_BTCD, patchify(x_BCL, PATCH, STRIDE))
    for place in range(CONTEXT, 9):
        (gradient,) = torch.autograd.grad(predicted_BSCP[0, place, 0].sum(), x_BCL, retain_graph=True)
        seen = (gradient[0, 0] != 0).nonzero().flatten()
        assert seen.max() == place * STRIDE - 1
        assert seen.min() == (CONTEXT - 2) * STRIDE


def test_a_context_patch_is_predicted_from_the_encoder_alone_up_to_that_patch():
    x_BCL = torch.randn(1, 2, STRIDE * 8 + PATCH, requires_grad=True)
    h_BTCD = torch.randn(1, CONTEXT, 2, 8, requires_grad=True)
    predicted_BSCP = decoder()(h_BTCD, patchify(x_BCL, PATCH, STRIDE))
    of_signal, of_context = torch.autograd.grad(predicted_BSCP[0, 2, 0].sum(), (x_BCL, h_BTCD))
    assert not of_signal.any()
    assert (of_context[0, :, 0].abs().sum(-1) > 0).tolist() == [True, True, True, False, False]


def test_every_trailing_patch_is_conditioned_on_the_encoders_whole_context():
    h_BTCD = torch.randn(1, CONTEXT, 2, 8, requires_grad=True)
    predicted_BSCP = decoder()(h_BTCD, torch.randn(1, 9, 2, PATCH))
    (gradient,) = torch.autograd.grad(predicted_BSCP[0, CONTEXT, 1].sum(), h_BTCD)
    assert (gradient[0, :, 1].abs().sum(-1) > 0).all()
